import { setTimeout as delay } from "node:timers/promises"
import type { Engine } from "perdure"
import { listener } from "../bench-workflows.ts"
import { median, quantile } from "../statistics.ts"
import { floorOn, openOn } from "../target.ts"
import type { Workload } from "../workload.ts"

const count = 50
/** Engine and floor take turns after so many. */
const turn = 5
/** So that sending does not keep step with whatever the engine does from time to time. */
const delayMsMax = 30

const pause = () => delay(Math.random() * delayMsMax)

/** Milliseconds from sending to the result, of each of some instances that wait. */
async function runEvents(engine: Engine, times: number): Promise<readonly number[]> {
  const latencies: number[] = []
  for (let i = 0; i < times; i++) {
    const handle = await engine.start(listener, { input: 0 })
    while ((await handle.status()) !== "waiting") await delay(1)
    await pause()
    const startedAt = performance.now()
    await handle.sendEvent("go", i)
    const result = await handle.result()
    latencies.push(performance.now() - startedAt)
    if (result !== i) throw new Error(`the result is ${String(result)}`)
  }
  return latencies
}

export const event: Workload = {
  id: "W5",
  targets: ["sqlite", "postgres"],
  title: `send an event to an instance that waits for it, until it is completed, ${count} times`,
  figures: [
    {
      key: "p50Ms",
      label: "p50 in raw commits",
      unit: "ms",
      floor: { key: "rawCommitMs", unit: "ms" },
      goal: { of: "ratio", bound: "at most", limit: 4 },
      // There it is compared with another engine on the same server: `--peers`.
      goals: { postgres: undefined },
    },
    { key: "p50Ms", label: "the same in raw commits after the same pauses", unit: "ms", floor: { key: "rawAfterDelayMs", unit: "ms" } },
    { key: "p99Ms", label: "p99", unit: "ms" },
  ],
  async prepare(folders, { target }) {
    const captured = folders.create()
    const capturing = await openOn(target, captured)
    await runEvents(capturing, count)
    await capturing.close()
    const floor = await floorOn(target, folders, captured)
    return async () => {
      await using raw = await floor.rawCommits()
      await using engine = await openOn(target, folders.create())
      const latencies: number[] = []
      const rawTimes: number[] = []
      const rawAfterDelays: number[] = []
      while (latencies.length < count) {
        latencies.push(...(await runEvents(engine, turn)))
        for (let i = 0; i < turn; i++) {
          await pause()
          rawAfterDelays.push(await raw.next())
        }
        rawTimes.push(...(await raw.take(turn)))
      }
      return { p50Ms: median(latencies), p99Ms: quantile(latencies, 0.99), rawCommitMs: median(rawTimes), rawAfterDelayMs: median(rawAfterDelays) }
    }
  },
}
