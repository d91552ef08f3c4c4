/**
 * Flow control, as far as it is not part of creating, claiming and committing. A *limit* is declared by a workflow and has a
 * number that may change at any time; where it has keys, each key counts on its own. A *slot* is a row (limit key, instance).
 *
 *   claimed  takes the slots of all its limits, in order; where one is full it is parked there, keeping those before
 *   parked   not to be claimed but for control messages and for its deadline; then without slots, and none of its code runs
 *   at rest  (asleep or waiting, owned by nobody) gives back all slots behind the last one that it holds on to
 *   over     (ended, paused or stalled) gives back all
 *
 * Whoever gives a slot back lets in the next one of the line in the same transaction: nobody has to look again.
 */
export interface FlowControl {
  /** What the code of these workflows says. Limits that they do not have any more count no longer. */
  declare(workflows: readonly WorkflowLimits[]): Promise<void>
  limitsOf(workflow: string): Promise<readonly LimitState[]>
  /** Other numbers than the code's, until they are taken back. Those let in are let in at once. `unknown`: there is no such limit, nothing changed. */
  override(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown">
  /** The instance that has this unique key, by its id. */
  holder(unique: UniqueUse): Promise<string | undefined>
  /** What a parked instance waits for. */
  waitOf(id: string): Promise<LimitWait | undefined>
  /**
   * Gives limits and a priority to a queued instance that was created by somebody who does not know its workflow. `deadlineAt`: when it
   * ends, even if it never gets its slots. False: it has begun, or is gone.
   */
  assign(id: string, incarnation: string, traits: Pick<FlowTraits, "priority" | "limits">, deadlineAt?: number): Promise<boolean>
  /** Calls back after a transaction of this store object that has let parked instances in, or told them when they start. Returns the way to stop. */
  onAdmitted(listener: (ids: readonly string[]) => void): () => void
}

/** What flow control knows of one instance from its creation on. */
export interface FlowTraits {
  /** Higher first; default 0. */
  readonly priority?: number
  /** In the order in which they are taken: those of one key before those of all. */
  readonly limits?: readonly LimitUse[]
  /** Keys that at most one instance has: a creation is lost while another has one of them. */
  readonly unique?: readonly UniqueUse[]
}

/** One limit as it concerns one instance. */
export interface LimitUse {
  /** `concurrency`: so many at a time. `rate`: so many starts in a time. */
  readonly kind: "concurrency" | "rate"
  readonly workflow: string
  /** Which limit of the workflow. */
  readonly name: string
  /** Names what is counted, over all limits: that of the limit as a whole, or of one key. */
  readonly key: string
  readonly isKeyed: boolean
  /** Not given back while it sleeps or waits. */
  readonly hold: boolean
  /** The numbers as of its start, for as long as nobody has declared any. */
  readonly max: number
  readonly perMs?: number
}

/** `singleton`: had until the instance ends. `debounce`: until it begins, or is paused. */
export interface UniqueUse {
  readonly kind: "singleton" | "debounce"
  readonly key: string
}

export interface WorkflowLimits {
  readonly workflow: string
  readonly limits: readonly { readonly name: string; readonly max: number; readonly perMs?: number }[]
}

export interface LimitOverride {
  readonly name: string
  /** Undefined: as declared. */
  readonly to: { readonly max: number; readonly perMs?: number } | undefined
}

export interface LimitState {
  readonly name: string
  readonly max: number
  readonly perMs?: number
  /** What the code says, where something else is in force. */
  readonly declared?: { readonly max: number; readonly perMs?: number }
}

export interface LimitWait {
  readonly use: LimitUse
  /** In force now. */
  readonly max: number
  readonly perMs?: number
  /** Ids of some of those that have its slots, and how many there are. */
  readonly holders: readonly string[]
  readonly held: number
  /** How many are let in before it. */
  readonly ahead: number
  /** When the rate allows it, if it is the next. */
  readonly until?: number
}
