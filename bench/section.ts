// What is measured in one go, and what became of it. A section's last run is kept in bench/results, and the page is written from there.

import type { Machine } from "./machine.ts"
import type { Target } from "./target.ts"
import type { Sample, Workload } from "./workload.ts"

export interface Section {
  readonly name: string
  readonly workloads: readonly Workload[]
}

/** Data only: figures, ratios and verdicts are made of it. */
export interface SectionRun {
  readonly machine: Machine
  readonly rounds: number
  /** Which PostgreSQL, if one was needed. */
  readonly postgres?: string
  readonly results: readonly Result[]
}

/** What one workload gave on one target: its rounds, or why there are none. */
export type Result = { readonly workload: Workload["id"]; readonly target: Target["id"] } & (
  | { readonly samples: readonly Sample[] }
  | { readonly failure: string }
)
