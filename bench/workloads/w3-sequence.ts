import { sequence } from "../bench-workflows.ts"
import { mean } from "../statistics.ts"
import { floorOn, openOn, type Target } from "../target.ts"
import type { Workload } from "../workload.ts"

const steps = 1_000

/** Milliseconds a step of one instance. */
async function runSequence(target: Target, folder: string): Promise<number> {
  const engine = await openOn(target, folder)
  const startedAt = performance.now()
  const result = await (await engine.start(sequence, { input: steps })).result()
  const ms = performance.now() - startedAt
  await engine.close()
  if (result !== steps) throw new Error(`the result is ${String(result)}`)
  return ms / steps
}

export const sequentialSteps: Workload = {
  id: "W3",
  targets: ["sqlite", "postgres"],
  title: `one instance of ${steps} sequential steps`,
  figures: [
    {
      key: "stepMs",
      label: "one step in raw commits",
      unit: "ms",
      floor: { key: "rawCommitMs", unit: "ms" },
      goal: { of: "ratio", bound: "at most", limit: 1.4 },
      goals: { postgres: { of: "ratio", bound: "at most", limit: 1.5 } },
    },
  ],
  async prepare(folders, { target }) {
    const captured = folders.create()
    await runSequence(target, captured)
    const floor = await floorOn(target, folders, captured)
    return async () => {
      await using raw = await floor.rawCommits()
      // Before and after, as the disk's speed drifts.
      const before = await raw.take(steps / 2)
      const stepMs = await runSequence(target, folders.create())
      return { stepMs, rawCommitMs: mean([...before, ...(await raw.take(steps / 2))]) }
    }
  },
}
