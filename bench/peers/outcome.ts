// The outcome of a run: plain data, as results.json contains it.

import type { Machine } from "../machine.ts"
import type { Sample } from "../workload.ts"
import type { PeerDescription, Setting } from "./adapter.ts"

/** The outcome of one engine in one workload: its rounds, or the reason why there are none. */
export type WorkloadOutcome = { readonly rounds: readonly Sample[] } | { readonly reason: string }

export interface EngineOutcome {
  readonly id: string
  readonly name: string
  readonly needs?: PeerDescription["needs"]
  /** The version of each package. */
  readonly versions: Readonly<Record<string, string>>
  readonly settings: Readonly<Record<string, Setting>>
  readonly remarks: readonly string[]
  readonly workloads: Readonly<Record<string, WorkloadOutcome>>
}

export interface PeersOutcome {
  /** The day of the run. */
  readonly measuredOn: string
  readonly machine: Machine
  /** The load of the machine in the last minute of the run. The engines themselves cause about 2 of it. */
  readonly loadAfter?: number
  /** The version of PostgreSQL, if the run needed it. */
  readonly postgres?: string
  readonly rounds: number
  readonly workloads: readonly { readonly id: string; readonly title: string }[]
  /** The first is Perdure on SQLite. */
  readonly engines: readonly EngineOutcome[]
}
