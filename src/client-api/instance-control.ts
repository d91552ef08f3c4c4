import type { Duration } from "../core/time/duration.ts"
import type { Phase, Status } from "../core/journal/status.ts"
import type { TransactionClient } from "../core/workflow/transaction-sql.ts"

/** Options of `result`. */
export interface ResultOptions {
  /** How long to wait; after that `result` rejects with a `ResultTimeoutError`, and the instance goes on. Default: for ever. */
  readonly timeout?: Duration
  /**
   * Rejects with a `STALLED` error as soon as the instance is stalled, which a person has to look at. Default: goes on waiting, as the instance may be
   * resumed.
   */
  readonly rejectWhenStalled?: boolean
  /** Whoever waits has gone away: rejects with the reason of the signal. */
  readonly signal?: AbortSignal
}

/** Options of `sendEvent`. */
export interface SendOptions {
  /** An event sent twice with the same id is received once. Default: none, so that each call sends an event of its own. */
  readonly eventId?: string
  /** On PostgreSQL: a client with a transaction of yours open on it. The event is there when that is committed. */
  readonly transaction?: TransactionClient
}

/** What `sendEvent` takes after the type. The payload may be left out where the event has none. */
export type EventArguments<P> = undefined extends P
  ? [payload?: P, options?: SendOptions]
  : unknown extends P
    ? [payload?: P, options?: SendOptions]
    : [payload: P, options?: SendOptions]

/** What pause, resume, cancel, terminate and restart answer. `accepted: false`: nothing changed, and `reason` says why. */
export interface ControlResult {
  /** The instance. */
  readonly id: string
  /** Whether the control was taken, and is durable. What it leads to may come later: `status` and `phase` are those of this moment. */
  readonly accepted: boolean
  /** The status of the instance when the call was answered. */
  readonly status: Status
  /** What the instance is in the middle of, such as `"cancelling"`. Absent: nothing. */
  readonly phase?: Phase
  /** Why nothing changed. Absent where the control was accepted. */
  readonly reason?: string
}

/** Options of `terminate`. */
export interface TerminateOptions {
  /** Kept in the journal, and told to whoever waits for the result. Default: none. */
  readonly reason?: string
  /** Undo completed steps first. Default: they stay as they are. */
  readonly rollback?: boolean
}

/** Options of `restart`. */
export interface RestartOptions {
  /** The id of a step, as `steps()` gives it: what was recorded before it began is kept. Default: everything is done again. */
  readonly from?: string
}

/** Options of `fork`. */
export interface ForkOptions {
  /** Of the new instance. */
  readonly id: string
  /** It begins with what was recorded before this step began; default: with nothing but the input. */
  readonly from?: string
  /** The input of the new instance, which the schema of the workflow checks. Default: that of the original. */
  readonly input?: unknown
  /** Names this fork: sent again with the same one, it is the same fork. Random, 16 to 64 letters, digits, `_` and `-`. */
  readonly requestId?: string
}

/** What a deletion answers: the instance is gone, durably. */
export interface DeleteResult {
  /**
   * True, on Durable Objects only: the index of instances did not answer, so `list`, `count` and `changes` may show the instance until it does. There
   * is nothing to do: the index is told again until it has forgotten the instance.
   */
  readonly stillListed: boolean
}
