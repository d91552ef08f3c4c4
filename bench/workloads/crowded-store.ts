import type { Engine } from "perdure"
import { crowd } from "../crowd.ts"
import { listener, sequence } from "../bench-workflows.ts"
import { openEngine } from "../engine-on-disk.ts"
import { median } from "../statistics.ts"
import type { Sample, Workload } from "../workload.ts"

const rows = 1_000_000
const count = 100

async function medianMs(run: (i: number) => Promise<void>): Promise<number> {
  const latencies: number[] = []
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now()
    await run(i)
    latencies.push(performance.now() - startedAt)
  }
  return median(latencies)
}

/** Medians of starting instances, and of claiming ones that are not in memory: an event wakes them. */
async function runBoth(folder: string, round: number): Promise<Sample> {
  const name = (i: number) => `listener-${round}-${i}`
  const withEngine = async <T>(use: (engine: Engine) => Promise<T>): Promise<T> => {
    const engine = await openEngine(folder)
    try {
      return await use(engine)
    } finally {
      await engine.close()
    }
  }
  const startMs = await withEngine(async (engine) => {
    await Promise.all(Array.from({ length: count }, (_, i) => engine.start(listener, { id: name(i), input: 0 })))
    return medianMs(async () => void (await (await engine.start(sequence, { input: 1 })).result()))
  })
  const claimMs = await withEngine((engine) =>
    medianMs(async (i) => {
      const handle = engine.get(listener, name(i))
      await handle.sendEvent("go", 1)
      await handle.result()
    }),
  )
  return { startMs, claimMs }
}

export const crowdedStore: Workload = {
  id: "growth",
  title: `a store with ${rows} rows of other instances against an empty one`,
  figures: [
    {
      key: "startMs",
      label: "start until result, p50, ÷ in an empty store",
      unit: "ms",
      floor: { key: "emptyStartMs", unit: "ms" },
      goal: { of: "ratio", bound: "at most", limit: 2 },
    },
    {
      key: "claimMs",
      label: "event, claim, load, result, p50, ÷ in an empty store",
      unit: "ms",
      floor: { key: "emptyClaimMs", unit: "ms" },
      goal: { of: "ratio", bound: "at most", limit: 2 },
    },
  ],
  async prepare(folders) {
    const crowded = folders.create()
    await crowd(crowded, rows)
    const empty = folders.create()
    let round = 0
    return async () => {
      const { startMs: emptyStartMs = Number.NaN, claimMs: emptyClaimMs = Number.NaN } = await runBoth(empty, ++round)
      return { ...(await runBoth(crowded, round)), emptyStartMs, emptyClaimMs }
    }
  },
}
