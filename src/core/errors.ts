/**
 * The errors that Perdure throws. All have one base class with a string `code`, data fields, and a message that says what to do next.
 * `PerdureError.is` recognises them by a brand and not by `instanceof`, because two copies of the package may be loaded.
 */

import { messageOf } from "./values/error-text.ts"

const brand = Symbol.for("perdure.error")

/** The kinds of errors. The guide "Errors" says when each code is thrown, and what to do about it. */
export type ErrorCode =
  | "ADDRESS_IN_USE"
  | "ASYNC_TRANSACTION"
  | "BAD_DURATION"
  | "BAD_EXPORT"
  | "BAD_ID"
  | "BAD_JSON"
  | "BAD_LIMIT_KEY"
  | "BAD_NAME"
  | "BAD_OPTION"
  | "BAD_QUERY"
  | "BAD_REQUEST"
  | "BAD_SCHEDULE"
  | "BAD_TRANSACTION"
  | "CANCELLED"
  | "CHILD_FAILED"
  | "CODEC_FAILED"
  | "CODEC_MISSING"
  | "CONTROL_REFUSED"
  | "CTX_IN_STEP"
  | "DATABASE_BUSY"
  | "DATABASE_CORRUPT"
  | "DATABASE_GONE"
  | "DATABASE_TOO_NEW"
  | "DATABASE_UNREADABLE"
  | "DEADLINE_EXCEEDED"
  | "DISK_FULL"
  | "DUPLICATE_STEP"
  | "ENGINE_CLOSED"
  | "EVENT_TIMEOUT"
  | "FORBIDDEN"
  | "FOREIGN_AWAIT"
  | "HANDLER_FAILED"
  | "ID_CONFLICT"
  | "ID_EXISTS"
  | "INSTANCE_CANCELLED"
  | "INSTANCE_ENDED"
  | "INSTANCE_FAILED"
  | "INSTANCE_TERMINATED"
  | "INSTANCE_TIMEOUT"
  | "INTERNAL_ERROR"
  | "INVALID_EVENT"
  | "INVALID_INPUT"
  | "JOURNAL_MISMATCH"
  | "LIMIT_EXCEEDED"
  | "METHOD_NOT_ALLOWED"
  | "NO_WORKER"
  | "NOTHING_MOVES"
  | "NON_RETRYABLE"
  | "NO_TASK_QUEUES"
  | "NO_TRANSACTIONS"
  | "NOT_ENDED"
  | "NOT_FOUND"
  | "NOT_STARTED"
  | "PAYLOAD_TOO_LARGE"
  | "READ_ONLY"
  | "READ_ONLY_HANDLER"
  | "REQUEST_TIMEOUT"
  | "RESULT_TIMEOUT"
  | "SCHEDULE_EXISTS"
  | "SCHEDULE_NOT_FOUND"
  | "SELF_CALL"
  | "SHARD_FAILED"
  | "SIMULATION_FAILED"
  | "SINGLETON_EXISTS"
  | "SQL_FAILED"
  | "SQL_REFUSED"
  | "STALE_TASK"
  | "STALLED"
  | "START_TIMEOUT"
  | "STEP_FAILED"
  | "STEP_TIMEOUT"
  | "STREAM_CUT_OFF"
  | "STORE_FAILED"
  | "STORE_UNREACHABLE"
  | "TERMINATED"
  | "TOO_LARGE_FOR_JSON"
  | "TOO_MANY_CRASHES"
  | "UNAUTHORIZED"
  | "UNKNOWN_ACTIVITY"
  | "UNKNOWN_EVENT"
  | "UNKNOWN_LIMIT"
  | "UNKNOWN_QUERY"
  | "UNKNOWN_ROUTE"
  | "UNKNOWN_STEP"
  | "UNKNOWN_UPDATE"
  | "UNKNOWN_WORKFLOW"
  | "UNREACHABLE"
  | "UNSERIALIZABLE"
  | "WORKER_LOST"

/**
 * The base class of all errors that Perdure throws: a `code`, `details` as data, and a message that says what to do next. Perdure does not wrap errors
 * of your own code in this class, except as the `cause` of a failed step or child.
 *
 * @example
 * try {
 *   await client.start(order, { id: "order-1", input })
 * } catch (error) {
 *   if (!PerdureError.is(error, "ID_EXISTS")) throw error
 * }
 */
export class PerdureError extends Error {
  /** The name of the class. It is stored with the error, so another process gets it back. */
  override readonly name: string = "PerdureError"
  /** The kind of error, for programs. A message may change between versions; a code does not. */
  readonly code: ErrorCode
  /** The ids, names and numbers of the message, as data. Empty if there are none. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, options: { details?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined)
    this.code = code
    this.details = options.details ?? {}
  }

  /** The brand by which `PerdureError.is` recognises an error of another copy of the package. */
  get [brand](): true {
    return true
  }

  /** Whether the value is a Perdure error, also one of another copy of the package. With a code: whether it has this code. */
  static is(value: unknown, code?: ErrorCode): value is PerdureError {
    if (typeof value !== "object" || value === null || !(brand in value)) return false
    return code === undefined || (value as PerdureError).code === code
  }
}

/** The error of a run that asks for more steps than the engine allows. */
export function tooManySteps(stepsMax: number): PerdureError {
  return new PerdureError("LIMIT_EXCEEDED", `the run asked for more than ${stepsMax} steps; raise limits.stepsMax or split the work over several instances`, {
    details: { limit: "stepsMax", max: stepsMax },
  })
}

/** A step has used up its attempts, or has thrown a `NonRetryableError`. `cause` is the error of the last attempt; `details` has `step` and `attempts`. */
export class StepFailedError extends PerdureError {
  override readonly name = "StepFailedError"
  constructor(step: string, attempts: number, cause: unknown) {
    super("STEP_FAILED", `step "${step}" failed after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}: ${messageOf(cause)}`, {
      details: { step, attempts },
      cause,
    })
  }
}

/** A child did not complete, and its parent awaits its result. `cause` is the child's own error, a `CancelledError` or a `TerminatedError`. */
export class ChildFailedError extends PerdureError {
  override readonly name = "ChildFailedError"
  constructor(child: string, { workflow, status, reason, cause }: ChildFailure) {
    const why = status === "failed" ? messageOf(cause) : reason
    super(
      "CHILD_FAILED",
      `child "${child}" (workflow "${workflow}") ${status === "failed" ? "failed" : `was ${status}`}${why === undefined ? "" : `: ${why}`}`,
      {
        details: { child, workflow, status },
        cause,
      },
    )
  }
}

interface ChildFailure {
  readonly workflow: string
  readonly status: "failed" | "cancelled" | "terminated"
  /** The reason of the cancel or terminate. */
  readonly reason: string | undefined
  readonly cause: unknown
}

/**
 * A step's function throws this error if a retry is pointless. The step fails at once, with this error as the `cause` of its `StepFailedError`.
 *
 * @example
 * await ctx.do("charge", async () => {
 *   if (card.isExpired) throw new NonRetryableError("the card has expired")
 *   return charge(card)
 * })
 */
export class NonRetryableError extends PerdureError {
  override readonly name = "NonRetryableError"
  constructor(message: string, options: { cause?: unknown } = {}) {
    super("NON_RETRYABLE", message, options)
  }
}

/** A wait without a default has timed out. `details` has `step` and `event`. */
export class EventTimeoutError extends PerdureError {
  override readonly name = "EventTimeoutError"
  constructor(step: string, event: string) {
    super("EVENT_TIMEOUT", `no "${event}" event came before the timeout of wait "${step}"; give the wait a default, or catch this error`, {
      details: { step, event },
    })
  }
}

/** Rejects the open sleeps, waits and attempts of a cancelled instance, and its result. `details` has `instance` and `reason`. */
export class CancelledError extends PerdureError {
  override readonly name = "CancelledError"
  constructor(instance: string, reason?: string) {
    super("CANCELLED", `instance "${instance}" was cancelled${reason === undefined ? "" : `: ${reason}`}`, { details: { instance, reason } })
  }
}

/** Rejects the result of a terminated instance. `details` has `instance` and `reason`. */
export class TerminatedError extends PerdureError {
  override readonly name = "TerminatedError"
  constructor(instance: string, reason?: string) {
    super("TERMINATED", `instance "${instance}" was terminated${reason === undefined ? "" : `: ${reason}`}`, { details: { instance, reason } })
  }
}

/** `result({ timeout })` has timed out. The instance goes on, and you may call `result` again. */
export class ResultTimeoutError extends PerdureError {
  override readonly name = "ResultTimeoutError"
  constructor(instance: string, timeoutMs: number) {
    super("RESULT_TIMEOUT", `instance "${instance}" has no result after ${timeoutMs} ms; ask again, or see what it waits for with why("${instance}")`, {
      details: { instance, timeoutMs },
    })
  }
}
