/** What the workloads give, and what of it has a goal. Ratios are Perdure ÷ bare object, of the same round. */
export interface ObjectFigure {
  readonly key: string
  readonly unit: string
  readonly label: string
  readonly floorKey?: string
  readonly goal?: { readonly bound: "at least" | "at most"; readonly limit: number; readonly of: "ratio" | "figure" }
}

export interface Sample {
  readonly workload: string
  readonly engine: string
  readonly round: number
  readonly numbers: Readonly<Record<string, number>>
}

export const figures: Readonly<Record<string, readonly ObjectFigure[]>> = {
  W1: [{ key: "perSecond", unit: "instances/s", label: "500 instances of 10 steps", goal: { bound: "at least", limit: 0.7, of: "ratio" } }],
  W2: [{ key: "meanMs", unit: "ms", label: "start to result, one step", goal: { bound: "at most", limit: 1.3, of: "ratio" } }],
  W3: [
    { key: "stepMs", unit: "ms", label: "a step of 1,000, floor synced", goal: { bound: "at most", limit: 1.3, of: "ratio" } },
    { key: "stepMs", unit: "ms", label: "the same, floor coalesced", floorKey: "coalescedMs", goal: { bound: "at most", limit: 0.15, of: "figure" } },
  ],
  W4: [{ key: "ms", unit: "ms", label: "100 steps at once", goal: { bound: "at most", limit: 2, of: "ratio" } }],
  W5: [{ key: "p50Ms", unit: "ms", label: "event to completed, p50", goal: { bound: "at most", limit: 2, of: "ratio" } }],
  W7: [
    { key: "p99Ms", unit: "ms", label: "lateness of a sleep, p99" },
    { key: "p50Ms", unit: "ms", label: "lateness of a sleep, p50" },
  ],
}

/** One row a figure. */
export function table(samples: readonly Sample[], ids: readonly string[], median: (values: readonly number[]) => number): string {
  const of = (workload: string, engine: string, key: string) =>
    samples.filter((sample) => sample.workload === workload && sample.engine === engine).map(({ numbers }) => numbers[key] ?? Number.NaN)
  const shown = (values: readonly number[]) => (values.length === 0 ? "–" : median(values).toPrecision(3))
  const rows = ids.flatMap((id) =>
    (figures[id] ?? []).map(({ key, unit, label, floorKey = key, goal }) => {
      const ours = of(id, "perdure", key)
      const floor = of(id, "bare", floorKey)
      const ratios = ours.map((value, round) => value / (floor[round] ?? Number.NaN))
      const judged = goal && median(goal.of === "ratio" ? ratios : ours)
      const isMet = judged !== undefined && (goal?.bound === "at least" ? judged >= goal.limit : judged <= (goal?.limit ?? 0))
      const verdict = goal === undefined ? "" : `${goal.bound} ${goal.limit} (${goal.of}): ${isMet ? "met" : "missed"}`
      return [id, label, `${shown(ours)} ${unit}`, shown(floor), shown(ratios), shown(of(id, "cloudflare", key)), verdict]
    }),
  )
  const all = [["", "", "Perdure", "bare object", "ratio", "Cloudflare Workflows", "goal"], ...rows]
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}
