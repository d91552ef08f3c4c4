import { sequence } from "../bench-workflows.ts"
import type { Floor, RawCommits } from "../floor.ts"
import { growing, keyAt, sizeText } from "../growth.ts"
import { mean } from "../statistics.ts"
import { openOn, type Target } from "../target.ts"
import type { Folders } from "../workload.ts"

const few = 100
const some = 1_000
const many = 10_000
/** The short ones are over in a moment; several meet as much of what else the machine does, half of them before the long one. */
const repeats = { [few]: 10, [some]: 2, [many]: 1 } as const

/** Milliseconds a step of one instance. */
async function runSequence(target: Target, folder: string, steps: number): Promise<number> {
  await using engine = await openOn(target, folder)
  const startedAt = performance.now()
  const result = await (await engine.start(sequence, { input: steps })).result()
  const ms = performance.now() - startedAt
  if (result !== steps) throw new Error(`the result is ${String(result)}`)
  return ms / steps
}

async function floorOf(target: Target, folders: Folders): Promise<Floor | undefined> {
  if (target.floor === undefined) return undefined
  const captured = folders.create()
  await runSequence(target, captured, some)
  return target.floor(folders, captured)
}

const takeHalf = async (raw: RawCommits | undefined) => (await raw?.take(some / 2)) ?? []

export const growthBySteps = growing({
  id: "growth-steps",
  title: `one instance of ${[few, some, many].map(sizeText).join(", ")} sequential steps: the cost of a step`,
  targets: ["sqlite", "postgres", "memory"],
  growth: {
    axis: { label: "steps", values: [few, some, many], reference: some },
    curves: [
      { key: "stepMs", label: "one step", unit: "ms", goal: { of: "ratio", bound: "at most", limit: 1.2 } },
      { key: "rawCommitMs", label: "one raw commit", unit: "ms", on: ["sqlite", "postgres"] },
    ],
    charts: [
      {
        file: "growth-steps",
        title: "Cost of a step by the number of steps",
        measure: "ms a step",
        curves: ["stepMs"],
        floors: ["rawCommitMs"],
        shows: "values",
      },
    ],
  },
  async prepare(folders, { target }) {
    const floor = await floorOf(target, folders)
    return async () => {
      await using raw = await floor?.rawCommits()
      const times: Record<number, number[]> = { [few]: [], [some]: [], [many]: [] }
      const runHalf = async (steps: typeof few | typeof some) => {
        for (let i = 0; i < repeats[steps] / 2; i++) times[steps]?.push(await runSequence(target, folders.create(), steps))
      }
      const before = await takeHalf(raw)
      await runHalf(few)
      await runHalf(some)
      times[many]?.push(await runSequence(target, folders.create(), many))
      await runHalf(some)
      await runHalf(few)
      const rawMs = [...before, ...(await takeHalf(raw))]
      const sizes = Object.entries(times)
      return {
        ...Object.fromEntries(sizes.map(([steps, ms]) => [keyAt("stepMs", Number(steps)), mean(ms)])),
        // The disk knows nothing of instances: it is the same for each of them.
        ...(raw === undefined ? {} : Object.fromEntries(sizes.map(([steps]) => [keyAt("rawCommitMs", Number(steps)), mean(rawMs)]))),
      }
    }
  },
})
