// The ratios that each change has to keep, in bench/baseline.json. Absolute times would depend on the machine more than on the code.

import { readFileSync, writeFileSync } from "node:fs"
import { measure, summarise } from "./measurement.ts"
import { short } from "./report.ts"
import { workloads } from "./section-list.ts"
import type { Workload } from "./workload.ts"

const path = new URL("./baseline.json", import.meta.url)

/** Quick workloads, which together measure the cost of a turn, of a start and of a step, and what the dialect for Cloudflare Workflows adds. */
const guarded: readonly Workload[] = ["W1", "W2", "W3", "dialect-W1"].map((id) => {
  const workload = workloads.find((candidate) => candidate.id === id)
  if (workload === undefined) throw new Error(`there is no workload ${id}`)
  return workload
})

export type Baseline = Readonly<Record<string, number>>

export const readBaseline = () => JSON.parse(readFileSync(path, "utf8")) as Baseline

export interface GuardedRatio {
  readonly id: string
  readonly label: string
  readonly ratio: number
  /** How many times worse this ratio is than another one. */
  worseThan(other: number): number
}

/** Measures the ratio of the goal of a guarded workload, as the median of some rounds. */
export async function measureRatio(workload: Workload, rounds: number): Promise<GuardedRatio> {
  const samples = await measure(workload, { rounds })
  const measured = summarise(workload, samples).find(({ figure }) => figure.goal?.of === "ratio")
  if (measured?.ratio === undefined) throw new Error(`${workload.id} has no ratio with a goal`)
  const { median: ratio } = measured.ratio
  const moreIsBetter = measured.figure.goal?.bound === "at least"
  return { id: workload.id, label: measured.figure.label, ratio, worseThan: (other) => (moreIsBetter ? other / ratio : ratio / other) }
}

export const guardedWorkloads = guarded

export async function writeBaseline(): Promise<void> {
  const baseline: Record<string, number> = {}
  for (const workload of guarded) {
    const { id, label, ratio } = await measureRatio(workload, 5)
    console.log(`${id}: ${label} ${short(ratio)}`)
    baseline[id] = Number(ratio.toPrecision(3))
  }
  writeFileSync(path, `${JSON.stringify(baseline, undefined, 2)}\n`)
}
