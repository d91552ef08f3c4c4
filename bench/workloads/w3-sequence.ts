import { sequence } from "../bench-workflows.ts"
import { openEngine } from "../engine-on-disk.ts"
import { Floor } from "../floor.ts"
import { mean } from "../statistics.ts"
import type { Workload } from "../workload.ts"

const steps = 1_000

/** Milliseconds a step of one instance. */
async function runSequence(folder: string): Promise<number> {
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
  title: `one instance of ${steps} sequential steps`,
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
    await runSequence(captured)
    const floor = await Floor.capture(folders, captured)
    return async () => {
      using raw = floor.rawCommits()
      // Before and after, as the disk's speed drifts.
      const before = raw.take(steps / 2)
      const stepMs = await runSequence(folders.create())
      return { stepMs, rawCommitMs: mean([...before, ...raw.take(steps / 2)]) }
    }
  },
}
