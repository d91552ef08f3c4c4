import type { ChildLink } from "./journal.ts"

/** What an instance has under way, as its journal tells of it. */

export interface OpenStep {
  readonly id: string
  /** The run that asked for it first: a restarted run may keep it. */
  readonly run: number
  /** Of its first `step.started`, and the time of that. */
  readonly position: number
  readonly firstAt: number
  attempt: number
  /** Attempts that ended in an error; those that a crash cut off do not count. */
  failures: number
  retryAt: number | undefined
  hasNested: boolean
  /** Its function asked for a step inside it while paused, and is at rest until that may begin. Not of the journal. */
  isHeld: boolean
}

export interface HookState {
  readonly failures: number
  readonly retryAt: number | undefined
}

export const untried: HookState = { failures: 0, retryAt: undefined }

export interface Cancel {
  readonly position: number
  readonly at: number
  /** When its grace begins; undefined: no worker has loaded the instance since. */
  graceFrom: number | undefined
  readonly cause: "request" | "timeout"
  readonly reason: string | undefined
  /** Steps that it found waiting for their next attempt: they have none. */
  readonly retrying: readonly OpenStep[]
}

export interface OpenChild extends ChildLink {
  /** That asked for it, and where. */
  readonly run: number
  readonly position: number
  readonly at: number
}

export interface OpenWait {
  readonly id: string
  /** Undefined: it is a condition. */
  readonly event: string | undefined
  readonly timeoutAt: number | undefined
  readonly at: number
}

export interface Timer {
  readonly kind: "sleep" | "retry" | "wait"
  readonly id: string
  readonly dueAt: number
  readonly position: number
}

/** The first of the two to fire. */
export function sooner(a: Timer | undefined, b: Timer | undefined): Timer | undefined {
  return a === undefined || (b !== undefined && firesBefore(b, a)) ? b : a
}

export function firesBefore(a: Timer, b: Timer): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.position < b.position)
}
