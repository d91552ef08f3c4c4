import { expect, it } from "vitest"
import { macrotask, SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import type { NewTask, TaskStore } from "../../ports/task-store.ts"
import { Gate } from "../../testing/scenarios/gate.ts"
import { Timers } from "../worker/timers.ts"
import type { Worker } from "../worker/worker.ts"
import { TaskExpiry } from "./task-expiry.ts"

const settled = () => new Promise<void>((resolve) => macrotask(resolve))

it("a time that comes while the store still answers an earlier look causes another look", async () => {
  const host = new SimulatedHost()
  const answer = new Gate()
  let looks = 0
  const expire: TaskStore["expire"] = async () => {
    if (++looks === 1) await answer.passed
    return { instances: [] }
  }
  const worker = { host, timers: new Timers(host), settings: { leaseMs: 30_000, sweepMs: 3_600_000 }, hint: () => undefined }
  const expiry = new TaskExpiry({ expire } as TaskStore, worker as unknown as Worker)
  expiry.start()
  expiry.onTasksWritten([{ startBy: host.now() + 100 } as NewTask])
  await host.advanceTo(host.now() + 1_000, settled)
  expect(looks).toBe(1)
  answer.open()
  await settled()
  expect(looks).toBe(2)
  await expiry.stop()
})
