import { durationMs, type Duration } from "../time/duration.ts"
import { PerdureError } from "../errors.ts"

/** How failed attempts are retried. Options of the engine, the workflow and the step are merged into one policy for each step. */

export interface RetryFields {
  /** The maximum number of attempts that end, including the first one. An attempt that a crash interrupts does not count. Infinity: no maximum. Default 3. */
  readonly maxAttempts?: number
  /** The time before the second attempt. Default 1 second. */
  readonly initialInterval?: Duration
  /** The maximum time between two attempts. Default 5 minutes. */
  readonly maxInterval?: Duration
  /** How the time between attempts grows. Default `"exponential"`. */
  readonly backoff?: Backoff
  /** The factor of an exponential interval; at least 1. Default 2. */
  readonly backoffCoefficient?: number
  /** A fraction from 0 to 1: 0.1, the default, spreads an interval by ±10 %. */
  readonly jitter?: number
}

/** The growth of intervals. With d = initialInterval, n = the number of failures, c = backoffCoefficient: fixed = d, linear = d·n, exponential = d·c^(n−1). */
export type Backoff = "exponential" | "linear" | "fixed"

/** Returns the time until the next attempt, or false for no further attempt. The engine awaits a promise. */
export type RetryFunction = (error: unknown, attempt: number) => Duration | false | Promise<Duration | false>

/** The retry options: fields, which are merged with those of the workflow and the engine, or a function, which decides alone. */
export type RetryOptions = RetryFields | RetryFunction

export type RetryPolicy = RetryFunction | Intervals

interface Intervals {
  readonly maxAttempts: number
  readonly initialMs: number
  readonly maxMs: number
  readonly backoff: Backoff
  readonly coefficient: number
  readonly jitter: number
}

const defaults: Intervals = { maxAttempts: 3, initialMs: 1000, maxMs: 300_000, backoff: "exponential", coefficient: 2, jitter: 0.1 }

/**
 * Merges options field by field; later options take precedence. A function replaces everything before it. Fields after a function start from the
 * defaults, but a jitter alone leaves the function in place.
 */
export function mergeRetry(engine?: RetryOptions, workflow?: RetryOptions, step?: RetryOptions): RetryPolicy {
  let policy: RetryPolicy = defaults
  for (const retry of [engine, workflow, step]) {
    if (typeof retry === "function") policy = retry
    else if (retry !== undefined) {
      const merged = withFields(typeof policy === "function" ? defaults : policy, retry)
      if (typeof policy !== "function" || Object.keys(retry).some((field) => field !== "jitter")) policy = merged
    }
  }
  return policy
}

/** Throws if `mergeRetry` would throw for these options. */
export function checkRetry(retry: RetryOptions): void {
  mergeRetry(retry)
}

const fields: ReadonlySet<string> = new Set<keyof RetryFields>(["maxAttempts", "initialInterval", "maxInterval", "backoff", "backoffCoefficient", "jitter"])

function withFields(base: Intervals, options: RetryFields): Intervals {
  if (typeof options !== "object" || options === null) throw bad("retry", options, "an object or a function")
  for (const field of Object.keys(options)) if (!fields.has(field)) throw bad(`retry.${field}`, "", `not an option; the options are ${[...fields].join(", ")}`)
  const { maxAttempts, initialInterval, maxInterval, backoff, backoffCoefficient, jitter } = options
  if (maxAttempts !== undefined && maxAttempts !== Infinity && !(Number.isInteger(maxAttempts) && maxAttempts >= 1))
    throw bad("retry.maxAttempts", maxAttempts, "a whole number from 1 on, or Infinity")
  if (backoff !== undefined && backoff !== "exponential" && backoff !== "linear" && backoff !== "fixed")
    throw bad("retry.backoff", backoff, '"exponential", "linear" or "fixed"')
  if (backoffCoefficient !== undefined && !(Number.isFinite(backoffCoefficient) && backoffCoefficient >= 1))
    throw bad("retry.backoffCoefficient", backoffCoefficient, "a number from 1 on")
  if (jitter !== undefined && !(Number.isFinite(jitter) && jitter >= 0 && jitter <= 1)) throw bad("retry.jitter", jitter, "a number from 0 to 1")
  const initialMs = initialInterval === undefined ? base.initialMs : durationMs(initialInterval, "retry.initialInterval")
  return {
    maxAttempts: maxAttempts ?? base.maxAttempts,
    initialMs,
    // The default maximum does not shorten an initial interval that the user gave.
    maxMs: maxInterval === undefined ? Math.max(base.maxMs, initialMs) : durationMs(maxInterval, "retry.maxInterval"),
    backoff: backoff ?? base.backoff,
    coefficient: backoffCoefficient ?? base.coefficient,
    jitter: jitter ?? base.jitter,
  }
}

function bad(option: string, value: unknown, expected: string): PerdureError {
  const found = value === "" ? "is" : `is ${JSON.stringify(value) ?? String(value)}, but must be`
  return new PerdureError("BAD_OPTION", `${option} ${found} ${expected}`, { details: { option } })
}

export interface Failure {
  /** How many attempts have failed, including this one. */
  readonly failures: number
  readonly error: unknown
  /** A random number in [0, 1). */
  readonly random: () => number
}

/** The milliseconds until the next attempt. Undefined: there is none. A promise if the policy is a function that returns one. */
export function nextRetryMs(policy: RetryPolicy, { failures, error, random }: Failure): number | undefined | Promise<number | undefined> {
  if (isNonRetryable(error)) return undefined
  if (typeof policy === "function") {
    const answer = policy(error, failures)
    return isPromise(answer) ? answer.then(answeredMs) : answeredMs(answer)
  }
  if (failures >= policy.maxAttempts) return undefined
  const intervalMs = Math.min(intervalOf(policy, failures), policy.maxMs)
  return Math.round(intervalMs * (1 + policy.jitter * (2 * random() - 1)))
}

function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"
}

function answeredMs(answer: Duration | false): number | undefined {
  return answer === false ? undefined : durationMs(answer, "the retry function's answer")
}

function intervalOf({ backoff, initialMs, coefficient }: Intervals, failures: number): number {
  // Zero is returned at once, because the power is infinite after many failures, and 0 times infinity is NaN.
  if (initialMs === 0 || backoff === "fixed") return initialMs
  return backoff === "linear" ? initialMs * failures : initialMs * coefficient ** (failures - 1)
}

/** Whether the error says that no further attempt can help. It is known by brand or by name, because dialects have errors of their own with this name. */
export function isNonRetryable(error: unknown): boolean {
  if (PerdureError.is(error, "NON_RETRYABLE")) return true
  return error instanceof Error && error.name === "NonRetryableError"
}
