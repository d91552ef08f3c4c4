import { sequence } from "../bench-workflows.ts"
import { openEngine } from "../engine-on-disk.ts"
import { Floor } from "../floor.ts"
import { mean } from "../statistics.ts"
import type { Workload } from "../workload.ts"

const short = 1_000
const long = 10_000

/** Milliseconds a step of one instance. */
async function runSequence(folder: string, steps: number): Promise<number> {
  const engine = await openEngine(folder)
  const startedAt = performance.now()
  const result = await (await engine.start(sequence, { input: steps })).result()
  const ms = performance.now() - startedAt
  await engine.close()
  if (result !== steps) throw new Error(`the result is ${String(result)}`)
  return ms / steps
}

export const sequentialSteps: Workload = {
  id: "W3",
  title: `one instance of ${short} sequential steps`,
  figures: [
    {
      key: "stepMs",
      label: "one step in raw commits",
      unit: "ms",
      floor: { key: "rawCommitMs", unit: "ms" },
      goal: { of: "ratio", bound: "at most", limit: 1.4 },
    },
  ],
  async prepare(folders) {
    const captured = folders.create()
    await runSequence(captured, short)
    const floor = await Floor.capture(folders, captured)
    return async () => {
      using raw = floor.rawCommits()
      // Before and after, as the disk's speed drifts.
      const before = raw.take(short / 2)
      const stepMs = await runSequence(folders.create(), short)
      return { stepMs, rawCommitMs: mean([...before, ...raw.take(short / 2)]) }
    }
  },
}

export const growth: Workload = {
  id: "W3-growth",
  title: `the cost of a step in an instance of ${long} steps against one of ${short}`,
  figures: [
    {
      key: "longStepMs",
      label: `one step of ${long} ÷ one of ${short}`,
      unit: "ms",
      floor: { key: "shortStepMs", unit: "ms" },
      goal: { of: "ratio", bound: "at most", limit: 1.2 },
    },
    { key: "longStepMs", label: `one step of ${long} in raw commits`, unit: "ms", floor: { key: "rawCommitMs", unit: "ms" } },
  ],
  async prepare(folders) {
    const captured = folders.create()
    await runSequence(captured, long)
    const floor = await Floor.capture(folders, captured)
    return async () => {
      using raw = floor.rawCommits()
      const before = raw.take(long / 2)
      const early = await runSequence(folders.create(), short)
      const longStepMs = await runSequence(folders.create(), long)
      const late = await runSequence(folders.create(), short)
      return { longStepMs, shortStepMs: (early + late) / 2, rawCommitMs: mean([...before, ...raw.take(long / 2)]) }
    }
  },
}
