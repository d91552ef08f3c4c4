import type { Duration } from "../core/time/duration.ts"
import type { Phase, Status } from "../core/journal/status.ts"
import type { TransactionClient } from "../core/workflow/transaction-sql.ts"

/** Options of `result`. */
export interface ResultOptions {
  /** How long to wait. After that `result` rejects with a `ResultTimeoutError`, and the instance goes on. Default: no limit. */
  readonly timeout?: Duration
  /**
   * Rejects with a `STALLED` error as soon as the instance is stalled and needs a person. Default: `result` goes on waiting, because the instance may be
   * resumed.
   */
  readonly rejectWhenStalled?: boolean
  /** Ends the wait: `result` rejects with the reason of the signal. */
  readonly signal?: AbortSignal
}

/** Options of `sendEvent`. */
export interface SendOptions {
  /** The instance receives an event once, even if it is sent again with the same id. Default: each call sends an event of its own. */
  readonly eventId?: string
  /** On PostgreSQL: a client on which your transaction is open. The event is sent when your transaction is committed. */
  readonly transaction?: TransactionClient
}

/** The arguments of `sendEvent` after the type. The payload may be left out if the event has none. */
export type EventArguments<P> = undefined extends P
  ? [payload?: P, options?: SendOptions]
  : unknown extends P
    ? [payload?: P, options?: SendOptions]
    : [payload: P, options?: SendOptions]

/** The answer of pause, resume, cancel, terminate and restart. With `accepted: false` nothing has changed, and `reason` says why. */
export interface ControlResult {
  /** The id of the instance. */
  readonly id: string
  /** True if the control is stored. It may take effect later: `status` and `phase` are those at the time of the answer. */
  readonly accepted: boolean
  /** The status of the instance at the time of the answer. */
  readonly status: Status
  /** What the instance is doing besides its status, such as `"cancelling"`. Absent if there is nothing. */
  readonly phase?: Phase
  /** Why nothing changed. Absent if the control was accepted. */
  readonly reason?: string
}

/** Options of `terminate`. */
export interface TerminateOptions {
  /** The reason, for the journal and for callers that wait for the result. Default: none. */
  readonly reason?: string
  /** Runs the rollbacks of completed steps first. Default: no rollback runs. */
  readonly rollback?: boolean
}

/** Options of `restart`. */
export interface RestartOptions {
  /** The id of a step, as `steps()` returns it. The entries that were recorded before the step began are kept. Default: the new run begins from the start. */
  readonly from?: string
}

/** Options of `fork`. */
export interface ForkOptions {
  /** The id of the new instance. */
  readonly id: string
  /** The id of a step. The new instance begins with the entries that were recorded before the step began. Default: it begins from the start. */
  readonly from?: string
  /** The input of the new instance. The schema of the workflow checks it. Default: the input of the original. */
  readonly input?: unknown
  /** Identifies this request: a fork that is sent again with the same id creates no second instance. Random, 16 to 64 letters, digits, `_` and `-`. */
  readonly requestId?: string
}

/** The answer of a deletion. The instance is deleted durably. */
export interface DeleteResult {
  /**
   * True if the index of instances did not answer, which happens on Durable Objects only. Then `list`, `count` and `changes` may still show the instance
   * for a while. You need not do anything: the deletion is sent to the index again until the index has acknowledged it.
   */
  readonly stillListed: boolean
}
