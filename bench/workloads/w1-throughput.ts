import type { Engine } from "perdure"
import { sequence } from "../bench-workflows.ts"
import { countingStore, openEngine } from "../engine-on-disk.ts"
import { Floor } from "../floor.ts"
import type { Workload } from "../workload.ts"

const instances = 1_000
const steps = 10

/** Milliseconds from the first start to the last result. */
export async function runThroughput(engine: Engine): Promise<number> {
  const startedAt = performance.now()
  const results = await Promise.all(
    Array.from({ length: instances }, async () => {
      const handle = await engine.start(sequence, { input: steps })
      return handle.result()
    }),
  )
  const ms = performance.now() - startedAt
  if (results.some((result) => result !== steps)) throw new Error("an instance has another result than it should")
  return ms
}

export const throughput: Workload = {
  id: "W1",
  title: `${instances} instances of ${steps} sequential steps, started at once`,
  figures: [
    {
      key: "stepsPerSecond",
      label: "steps a second ÷ grouped floor",
      unit: "steps/s",
      floor: { key: "floorStepsPerSecond", unit: "steps/s" },
      goal: { of: "ratio", bound: "at least", limit: 0.5 },
    },
    {
      key: "stepsPerSecond",
      label: "the same ÷ floor that writes the instance rows as well",
      unit: "steps/s",
      floor: { key: "wholeFloorStepsPerSecond", unit: "steps/s" },
    },
    { key: "commits", label: "transactions", unit: "" },
  ],
  async prepare(folders) {
    const captured = folders.create()
    const sizes: number[] = []
    const engine = await openEngine(
      captured,
      countingStore(captured, (turns) => sizes.push(turns)),
    )
    await runThroughput(engine)
    await engine.close()
    const floor = await Floor.capture(folders, captured)
    const perSecond = (ms: number) => (instances * steps * 1000) / ms
    return async () => {
      const folder = folders.create()
      const measured = await openEngine(folder)
      const ms = await runThroughput(measured)
      const { commits } = measured.parts.worker.committer
      await measured.close()
      return {
        stepsPerSecond: perSecond(ms),
        commits,
        floorStepsPerSecond: perSecond(floor.grouped(sizes, { withInstances: false })),
        wholeFloorStepsPerSecond: perSecond(floor.grouped(sizes, { withInstances: true })),
      }
    }
  },
}
