/**
 * The part of flow control that is not part of creating, claiming and committing. A workflow declares a *limit*, whose numbers may change at any time. If
 * a limit has keys, each key counts on its own. A *slot* is one unit of a limit key that an instance holds. The states of an instance with limits are:
 *
 *   claimed             it takes the slots of its limits, in order; at a full limit it is queued and keeps the slots before
 *   queued for a slot   it is claimed only for control messages and for its deadline, then without slots, and none of its code runs
 *   at rest             (sleeping or waiting, without an owner) it returns all slots behind its last limit with `hold`
 *   over                (ended, paused or stalled) it returns all slots
 *
 * A transaction that returns a slot also admits the next instance of the queue, so no process has to poll.
 */
export interface FlowControl {
  /** Declares the limits in the code of these workflows. A limit that a workflow no longer has does not block any instance. */
  declare(workflows: readonly WorkflowLimits[]): Promise<void>
  limitsOf(workflow: string): Promise<readonly LimitState[]>
  /** Sets numbers that replace the declared ones until they are removed, and admits instances that fit now. `unknown`: there is no such limit, and nothing changed. */
  override(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown">
  /** The id of the instance that has this unique key. */
  holder(unique: UniqueUse): Promise<string | undefined>
  /** The limit that an instance is queued for. Undefined: it is queued for none. */
  waitOf(id: string): Promise<LimitWait | undefined>
  /**
   * Gives limits and a priority to a queued instance whose creator did not have its workflow. `deadlineAt`: when the instance times out, even if it never
   * gets its slots. False: the instance has started, or does not exist.
   */
  assign(id: string, incarnation: string, traits: Pick<FlowTraits, "priority" | "limits">, deadlineAt?: number): Promise<boolean>
  /** Calls back after each transaction of this store object that has admitted queued instances, or has set the time of their start. Returns the function that stops this. */
  onAdmitted(listener: (ids: readonly string[]) => void): () => void
}

/** The flow-control options of one instance, fixed at its creation. */
export interface FlowTraits {
  /** The priority, higher first. Default 0. */
  readonly priority?: number
  /** The limits in the order in which their slots are taken: limits with a key before limits of the whole workflow. */
  readonly limits?: readonly LimitUse[]
  /** Unique keys. A creation is lost while another instance has one of them. */
  readonly unique?: readonly UniqueUse[]
}

/** One limit as it applies to one instance. */
export interface LimitUse {
  /** `concurrency` limits the instances at a time, `rate` the starts in a period. */
  readonly kind: "concurrency" | "rate"
  readonly workflow: string
  /** The name of the limit within the workflow. */
  readonly name: string
  /** The limit key, unique over all limits: it stands for the whole limit, or for one key of it. */
  readonly key: string
  readonly isKeyed: boolean
  /** The instance keeps the slot while it sleeps or waits. */
  readonly hold: boolean
  /** The numbers at the instance's start. They apply until a worker has declared the limit. */
  readonly max: number
  readonly perMs?: number
}

/** A unique key. The instance has a `singleton` key until it ends, and a `debounce` key until it starts or is paused. */
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
  /** The numbers to set. Undefined: the declared numbers apply again. */
  readonly to: { readonly max: number; readonly perMs?: number } | undefined
}

export interface LimitState {
  readonly name: string
  readonly max: number
  readonly perMs?: number
  /** The declared numbers, if other numbers are in force. */
  readonly declared?: { readonly max: number; readonly perMs?: number }
}

export interface LimitWait {
  readonly use: LimitUse
  /** The number in force; `perMs` is the period in force. */
  readonly max: number
  readonly perMs?: number
  /** The ids of some instances that have slots; `held` is the number of all taken slots. */
  readonly holders: readonly string[]
  readonly held: number
  /** How many instances are admitted before this one. */
  readonly ahead: number
  /** When the rate admits the instance, if it is the next. */
  readonly until?: number
}
