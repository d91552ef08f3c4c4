// A workload is code that measures one round, and a list of figures that explain the numbers of a round.

import type { Growth } from "./growth.ts"
import type { Target, TargetId } from "./target.ts"

/** The numbers of one round, by name. Engine and floor are measured in the same round, so that their ratio is side by side. */
export type Sample = Readonly<Record<string, number>>

export interface Figure {
  /** The key of the number in the sample. */
  readonly key: string
  readonly label: string
  readonly unit: string
  /** The number with which the figure is compared. The ratio is figure ÷ floor. */
  readonly floor?: { readonly key: string; readonly unit: string }
  readonly goal?: Goal
  /** The goals of targets that have another goal or none. */
  readonly goals?: Readonly<Partial<Record<TargetId, Goal | undefined>>>
  /** The only targets on which the figure can be measured. */
  readonly on?: TargetId | readonly TargetId[]
}

export interface Goal {
  readonly of: "figure" | "ratio"
  readonly bound: "at least" | "at most"
  readonly limit: number
}

export interface Workload {
  /** The id for `--only`. The part before a dash also chooses the workload. */
  readonly id: string
  /** The targets of the workload; default: SQLite only. */
  readonly targets?: readonly TargetId[]
  readonly title: string
  readonly figures: readonly Figure[]
  /** Set if the workload measures the same figures at several sizes. */
  readonly growth?: Growth
  /** Each round needs a heap of its own, so it has a process of its own, and no warm-up. */
  readonly processPerRound?: true
  /** Called once per process. The returned function measures one round per call. The first call does not count. */
  readonly prepare: (folders: Folders, setting: Setting) => Promise<() => Promise<Sample>>
}

export interface Setting {
  readonly target: Target
  /** Reports the operation under way. */
  readonly progress: (text: string) => void
  /** Reports that the process is idle for a while, so that the next round may begin. */
  readonly resting: () => void
}

/** Gives new empty folders on the disk that is measured. */
export interface Folders {
  create(): string
}
