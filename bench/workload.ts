// What a workload is: code that measures one round, and a list of what the numbers of a round mean.

import type { Growth } from "./growth.ts"
import type { Target, TargetId } from "./target.ts"

/** The numbers of one round, by name. Engine and floor are measured in the same round, so that their ratio is side by side. */
export type Sample = Readonly<Record<string, number>>

export interface Figure {
  /** The number's name in the sample. */
  readonly key: string
  readonly label: string
  readonly unit: string
  /** The number that it is compared with; the ratio is figure ÷ floor. */
  readonly floor?: { readonly key: string; readonly unit: string }
  readonly goal?: Goal
  /** Of targets that have another goal, or none. */
  readonly goals?: Readonly<Partial<Record<TargetId, Goal | undefined>>>
  /** It can be measured there alone. */
  readonly on?: TargetId | readonly TargetId[]
}

export interface Goal {
  readonly of: "figure" | "ratio"
  readonly bound: "at least" | "at most"
  readonly limit: number
}

export interface Workload {
  /** As in `--only`; what follows a dash is chosen by what stands before it as well. */
  readonly id: string
  /** What it runs on; default: SQLite alone. */
  readonly targets?: readonly TargetId[]
  readonly title: string
  readonly figures: readonly Figure[]
  /** Where the figures are the same things at several sizes. */
  readonly growth?: Growth
  /** A round needs a heap of its own: each has its own process, and none of them warms up. */
  readonly processPerRound?: true
  /** Called once per process; the function that it gives measures one round per call. The first call is not counted. */
  readonly prepare: (folders: Folders, setting: Setting) => Promise<() => Promise<Sample>>
}

export interface Setting {
  readonly target: Target
  /** Tells whoever waits what is under way. */
  readonly progress: (text: string) => void
  /** There is nothing to do for a while: the process of the next round may begin. */
  readonly resting: () => void
}

/** Gives new empty folders on the disk that is measured. */
export interface Folders {
  create(): string
}
