// A section is a group of workloads that is measured together. Its last run is kept in bench/results, and the page is written from there.

import type { Machine } from "./machine.ts"
import type { Target } from "./target.ts"
import type { Sample, Workload } from "./workload.ts"

export interface Section {
  readonly name: string
  readonly workloads: readonly Workload[]
}

/** The data of a run, from which figures, ratios and verdicts are computed. */
export interface SectionRun {
  readonly machine: Machine
  readonly rounds: number
  /** The version of PostgreSQL, if the run needed it. */
  readonly postgres?: string
  readonly results: readonly Result[]
}

/** The result of one workload on one target: its rounds, or the reason why there are none. */
export type Result = { readonly workload: Workload["id"]; readonly target: Target["id"] } & (
  | { readonly samples: readonly Sample[] }
  | { readonly failure: string }
)
