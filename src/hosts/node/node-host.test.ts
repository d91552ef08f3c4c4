import { setTimeout as wait } from "node:timers/promises"
import { afterAll, beforeAll } from "vitest"
import { describeHost } from "../../testing/host-conformance/describe-host.ts"
import { SteadyClock } from "../steady-clock.ts"
import { NodeHost } from "./node-host.ts"

// The runner of these tests takes every such rejection for a failed test. For the time being they are the host's alone.
let others: NodeJS.UnhandledRejectionListener[] = []
beforeAll(() => {
  others = process.listeners("unhandledRejection")
  process.removeAllListeners("unhandledRejection")
})
afterAll(() => {
  for (const listener of others) process.on("unhandledRejection", listener)
})

describeHost("Node", (log) => {
  let setMs = 0
  const clock = new SteadyClock(
    () => Date.now() + setMs,
    () => performance.now(),
  )
  return { host: new NodeHost(log, clock), pass: (ms) => wait(ms), setWallClock: (byMs) => (setMs += byMs) }
})
