import { CrowdedOperations } from "../crowded-operations.ts"
import { type Curve, growing, keyAt, sizeText } from "../growth.ts"
import { mean } from "../statistics.ts"
import type { Goal, Sample } from "../workload.ts"

const sizes = [0, 100_000, 1_000_000]

const twice: Goal = { of: "ratio", bound: "at most", limit: 2 }

const work: readonly Curve[] = [
  { key: "startMs", label: "start until it is durable", unit: "ms", goal: twice },
  { key: "resultMs", label: "start until the result of one step", unit: "ms", goal: twice },
  { key: "claimMs", label: "claim: from an event to the result of an instance that is not in memory", unit: "ms", goal: twice },
  { key: "wakeMs", label: "wake-up: lateness of a sleep of an instance that is not in memory", unit: "ms" },
]

const lists: readonly Curve[] = [
  { key: "firstPageMs", label: "list: the first page", unit: "ms" },
  { key: "filteredPageMs", label: "list: a page of one workflow and status", unit: "ms" },
  { key: "deepPageMs", label: "list: a page in the middle, by cursor", unit: "ms" },
]

const looks: readonly Curve[] = [
  { key: "missMs", label: "list: a workflow without any instance of a common status", unit: "ms" },
  { key: "countMs", label: "count by status", unit: "ms" },
]

const keys = (curves: readonly Curve[]) => curves.map(({ key }) => key)

export const growthByRows = growing({
  id: "growth-rows",
  targets: ["sqlite", "postgres"],
  title: `a store with ${sizes.map(sizeText).join(", ")} rows of other instances: start, claim, wake-up, list`,
  growth: {
    axis: { label: "rows", values: sizes, reference: 0 },
    curves: [...work, ...lists, ...looks],
    charts: [
      { file: "growth-work", title: "Start, claim and wake-up by rows in the store", measure: "ms", curves: keys(work), shows: "ratios" },
      { file: "growth-lists", title: "Pages of a list by rows in the store", measure: "ms", curves: keys(lists), shows: "values" },
      { file: "growth-looks", title: "Looking through all instances by rows in the store", measure: "ms", curves: keys(looks), shows: "values" },
    ],
  },
  async prepare(folders, { target, progress }) {
    const stores = new Map<number, CrowdedOperations>()
    for (const rows of sizes) {
      const folder = folders.create()
      if (rows > 0 && target.crowd === undefined) throw new Error(`nobody has written how to crowd ${target.title}`)
      if (rows > 0) await target.crowd?.(folder, rows, progress)
      stores.set(rows, await CrowdedOperations.on(target, folder))
    }
    return async () => {
      const samples: Sample[] = []
      // There and back, as the machine's speed drifts.
      for (const [rows, operations] of [...stores, ...[...stores].toReversed()]) {
        progress(`${sizeText(rows)} rows`)
        samples.push(named(await operations.measure(), rows))
      }
      const keys = new Set(samples.flatMap(Object.keys))
      return Object.fromEntries(Array.from(keys, (key) => [key, mean(samples.flatMap((sample) => sample[key] ?? []))]))
    }
  },
})

const named = (sample: Sample, rows: number): Sample => Object.fromEntries(Object.entries(sample).map(([key, value]) => [keyAt(key, rows), value]))
