// Durable Objects in a local workerd: Perdure beside a bare object that writes the same rows, in turn and in one Worker.

import type { Figure, Goal, Sample, Workload } from "../workload.ts"

/** A figure of a workload of the Worker (object-workloads.ts), for every engine. */
export interface ObjectFigure {
  readonly key: string
  readonly label: string
  readonly unit: string
  readonly better: "more" | "less"
  /** The key of the number of the bare object, if it differs from the key of the figure. */
  readonly floorKey?: string
  /** Another number of the same engine, with which the figure is compared instead. */
  readonly ownKey?: string
  readonly goal?: Goal
}

export interface ObjectWorkload {
  readonly id: string
  readonly title: string
  /** The workload makes so many objects that the next measurement has to wait until they have left memory. */
  readonly isCrowd?: true
  readonly figures: readonly ObjectFigure[]
}

const ratio = (bound: Goal["bound"], limit: number): Goal => ({ of: "ratio", bound, limit })

export const objectWorkloads: readonly ObjectWorkload[] = [
  {
    id: "W1",
    title: "500 instances of 10 sequential steps, started at once",
    isCrowd: true,
    figures: [
      { key: "perSecond", label: "instances a second", unit: "/s", better: "more", goal: ratio("at least", 0.7) },
      {
        key: "perSecond",
        label: "the same; floor with alarm, index and result call",
        unit: "/s",
        better: "more",
        floorKey: "watchedPerSecond",
      },
    ],
  },
  {
    id: "W2",
    title: "start an instance of one step and await its result, 100 times",
    figures: [
      { key: "meanMs", label: "start to result, mean", unit: "ms", better: "less", goal: ratio("at most", 1.3) },
      {
        key: "meanMs",
        label: "the same; floor with alarm, index and result call",
        unit: "ms",
        better: "less",
        floorKey: "watchedMs",
      },
    ],
  },
  {
    id: "W3",
    title: "one instance of 1,000 sequential steps, 5 times, and one of 10,000",
    figures: [
      { key: "stepMs", label: "one step; floor: each row durable before the next", unit: "ms", better: "less", goal: ratio("at most", 1.3) },
      {
        key: "stepMs",
        label: "one step; floor: all rows at once",
        unit: "ms",
        better: "less",
        floorKey: "coalescedMs",
        goal: { of: "figure", bound: "at most", limit: 0.15 },
      },
      { key: "longStepMs", label: "one step of 10,000 ÷ one of 1,000", unit: "ms", better: "less", ownKey: "stepMs", goal: ratio("at most", 1.2) },
    ],
  },
  {
    id: "W4",
    title: "one instance of 100 parallel steps, 50 times",
    figures: [{ key: "ms", label: "start to result, mean", unit: "ms", better: "less", goal: ratio("at most", 2) }],
  },
  {
    id: "W5",
    title: "send an event to an instance that waits for it, until it is completed, 40 times",
    figures: [{ key: "p50Ms", label: "event to result, p50", unit: "ms", better: "less", goal: ratio("at most", 2) }],
  },
  {
    id: "W7",
    title: "100 instances that each sleep 1 s",
    figures: [
      { key: "p99Ms", label: "lateness, p99", unit: "ms", better: "less", goal: ratio("at most", 1) },
      { key: "p50Ms", label: "lateness, p50", unit: "ms", better: "less", goal: ratio("at most", 1) },
    ],
  },
  {
    id: "W9",
    title: "10,000 events at once to one instance that waits for them one by one, until it is completed",
    figures: [{ key: "perSecond", label: "events a second; in place of the floor: 1,000 events", unit: "events/s", better: "more", ownKey: "fewPerSecond" }],
  },
]

const floorKeyOf = (key: string) => `floor.${key}`

export const objectSectionWorkloads: readonly Workload[] = objectWorkloads.map(({ id, title, figures, isCrowd = false }) => ({
  id: `${id}-objects`,
  title,
  targets: ["objects"],
  figures: figures.map(({ key, label, unit, floorKey = key, ownKey, goal }): Figure => ({
    key,
    label,
    unit,
    floor: { key: ownKey ?? floorKeyOf(floorKey), unit },
    ...(goal === undefined ? {} : { goal }),
  })),
  async prepare(folders) {
    // Loaded on demand, because other workloads of the process do not need it.
    const { ObjectBench } = await import("./object-bench.ts")
    const bench = await ObjectBench.start({ folder: folders.create() })
    process.once("disconnect", () => void bench.close())
    return async () => ({ ...(await bench.measure("perdure", id, isCrowd)), ...asFloor(await bench.measure("bare", id, isCrowd)) })
  },
}))

function asFloor(sample: Sample): Sample {
  return Object.fromEntries(Object.entries(sample).map(([key, value]) => [floorKeyOf(key), value]))
}
