import type { ChildLink } from "./journal.ts"
import type { OpenStep } from "./open-step.ts"

/** The open operations of an instance, as `InstanceState` reads them from the journal. */

export interface HookState {
  readonly failures: number
  readonly retryAt: number | undefined
}

export const untried: HookState = { failures: 0, retryAt: undefined }

export interface Cancel {
  readonly position: number
  readonly at: number
  /** When the grace starts. Undefined: no worker has loaded the instance since the cancel. */
  graceFrom: number | undefined
  readonly cause: "request" | "timeout"
  readonly reason: string | undefined
  /** Steps that were waiting for their next attempt. The cancel has taken that attempt away. */
  readonly retrying: readonly OpenStep[]
}

export interface OpenChild extends ChildLink {
  /** The run that asked for the child. */
  readonly run: number
  /** The position of the `step.started` that asked for the child, and its time. */
  readonly position: number
  readonly at: number
}

export interface OpenWait {
  readonly id: string
  /** The type of the event. Undefined: the wait is for a condition. */
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

/** The timer that fires first. */
export function sooner(a: Timer | undefined, b: Timer | undefined): Timer | undefined {
  return a === undefined || (b !== undefined && firesBefore(b, a)) ? b : a
}

export function firesBefore(a: Timer, b: Timer): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.position < b.position)
}
