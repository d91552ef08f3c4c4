// Brings an engine into a state, sends the memory of its process, and exits:
// `node memory-process.js <scene> <target> <folder> <count>`. memory-scene.ts starts this process.

import type { Engine } from "perdure"
import { listener, sequence, sleeper } from "./bench-workflows.ts"
import { componentsOf } from "./engine-components.ts"
import type { Scene } from "./memory-scene.ts"
import { residentMbNow, residentSet } from "./resident-set.ts"
import { openOn, targetCalled } from "./target.ts"
import { runThroughput } from "./throughput.ts"
import type { Sample } from "./workload.ts"

const batch = 1_000
const sleepMs = 30 * 24 * 3_600_000
/** V8 returns the memory of the busiest moment after 100 s without work. */
const restMs = 115_000

/** Starts instances, and returns the milliseconds until `count` of them have the status. */
async function startAll(engine: Engine, item: Parameters<Engine["startBatch"]>[0][number], status: string, count: number): Promise<number> {
  const startedAt = performance.now()
  for (let started = 0; started < count; started += batch) {
    const results = await engine.startBatch(Array.from({ length: Math.min(batch, count - started) }, () => item))
    if (results.some(({ created }) => !created)) throw new Error("an instance was not created")
  }
  while (((await engine.count({}, "status"))[status] ?? 0) < count) await new Promise((resolve) => setTimeout(resolve, 20))
  return performance.now() - startedAt
}

const scenes: Readonly<Record<Scene, (engine: Engine, count: number, openedAt: number) => Promise<Sample>>> = {
  async worked(engine, count) {
    // Twice, because W1 has a warm-up round too.
    await runThroughput(engine, count)
    await runThroughput(engine, count)
    return {}
  },
  async asleep(engine, count) {
    return { asleepMs: await startAll(engine, { workflow: sleeper, input: sleepMs }, "sleeping", count) }
  },
  async rested(engine, count) {
    const asleepMs = await startAll(engine, { workflow: sleeper, input: sleepMs }, "sleeping", count)
    const startedMb = residentMbNow()
    process.send?.("resting")
    await new Promise((resolve) => setTimeout(resolve, restMs))
    return { asleepMs, startedMb }
  },
  async restarted(engine, _count, openedAt) {
    const result = await (await engine.start(sequence, { input: 1 })).result()
    if (result !== 1) throw new Error(`the result is ${String(result)}`)
    return { readyMs: performance.now() - openedAt }
  },
  async resident(engine, count) {
    await startAll(engine, { workflow: listener, input: 1 }, "waiting", count)
    const { size } = componentsOf(engine).worker.residents
    if (size !== count) throw new Error(`${size} of ${count} instances are in memory`)
    return {}
  },
}

const [scene = "", target = "", folder = "", count = ""] = process.argv.slice(2)
const openedAt = performance.now()
const engine = await openOn(targetCalled(target), folder)
const sample = await scenes[scene as Scene](engine, Number(count), openedAt)
process.send?.({ ...sample, ...residentSet() }, () => process.exit(0))
