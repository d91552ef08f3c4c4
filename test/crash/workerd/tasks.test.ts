// workerd is killed with SIGKILL while tasks wait in a queue and while this process has claimed one. This process is a worker that takes them over HTTP.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import { connect, runActivities } from "../../../src/client.ts"
import { type ClaimedActivity, defineActivity } from "../../../src/index.ts"
import { bundledWorker, WorkerdProcess } from "./workerd-process.ts"

let script: string
let running: WorkerdProcess | undefined
const folder = mkdtempSync(join(tmpdir(), "perdure-workerd-tasks-"))

beforeAll(async () => {
  script = await bundledWorker("task-queue/worker.ts")
})
afterEach(() => running?.stop())
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it("tasks that wait and tasks that are claimed survive, and a worker that is no Worker ends each of them once, over HTTP", { timeout: 120_000 }, async () => {
  const workerd = new WorkerdProcess({ script, folder, onTold: () => undefined })
  running = workerd
  await workerd.start()
  const client = () => connect(workerd.url)
  const claimOne = async (): Promise<ClaimedActivity> => {
    const [task] = await client().tasks.claim("yard", { worker: "node-1", activities: ["press"], wait: "30s" })
    if (task === undefined) throw new Error("no task came")
    return task
  }
  const ids = ["a", "b"]
  for (const id of ids) await client().start("weld", { id, input: { parts: id === "a" ? 1 : 2 } })
  const held = await claimOne()
  await client().tasks.heartbeat(held, { details: "half" })
  const other = await claimOne()
  expect([held, other].map(({ input, instance }) => [instance, (input as { parts: number }).parts])).toEqual(
    expect.arrayContaining([
      ["a", 1],
      ["b", 2],
    ]),
  )
  await client().tasks.fail(other, new Error("not yet"))
  const coming = await claimOne()
  expect([coming.instance, coming.attempt]).toEqual([other.instance, 2])
  // One task is claimed. The other one waits: its instance has asked for its second activity.
  await client().tasks.complete(coming, "pressed")
  await expect
    .poll(async () => (await client().queues()).map(({ queue, waiting, claimed }) => [queue, waiting, claimed]), { timeout: 30_000 })
    .toEqual([["yard", 1, 1]])

  await workerd.kill()
  await workerd.start()

  expect((await client().queues()).map(({ queue, waiting, claimed, workers }) => [queue, waiting, claimed, workers.map(({ worker }) => worker)])).toEqual([
    ["yard", 1, 1, ["node-1"]],
  ])
  await client().tasks.heartbeat(held)
  await client().tasks.complete(held, "held over the death")
  await expect(client().tasks.complete(held, "again")).rejects.toMatchObject({ code: "STALE_TASK" })
  await expect(client().tasks.complete(coming, "again")).rejects.toMatchObject({ code: "STALE_TASK" })
  const press = defineActivity("press", async (_: unknown, { heartbeat }) => {
    heartbeat()
    return "second"
  })
  await using _runner = runActivities(workerd.url, { queue: "yard", worker: "node-2", activities: [press] })
  const results = Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await client().get(id).result()] as const)))
  expect(results).toEqual({ [held.instance]: ["held over the death", "second"], [other.instance]: ["pressed", "second"] })
  const response = await fetch(`${workerd.url}/tasks/${held.id}/complete`, { method: "POST", body: JSON.stringify({ token: held.token }) })
  expect(response.status).toBe(409)
})
