import type { Asks, Context, SleepOptions, StepContext, StepOptions } from "../../core/workflow/context.ts"
import type { Duration } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Backoff, RetryFields } from "../../core/workflow/retry-policy.ts"
import type { EventMap } from "../../core/workflow/workflow.ts"

/** The `step` argument of a class's `run`. */
export interface Step<Events = EventMap> {
  /** Runs `fn` and records its result; a recorded result is never computed again. Throws a `StepFailedError` when its attempts are used up. */
  do<T>(name: string, fn: StepFunction<T, Events>, options?: ClassStepOptions<NoInfer<T>>): Promise<T>
  do<T>(name: string, options: ClassStepOptions<NoInfer<T>>, fn: StepFunction<T, Events>): Promise<T>
  /** Sleeps for this long, also across crashes and deploys. Rejects with a `CancelledError` if the instance is cancelled. */
  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void>
  /** Sleeps until this time: a Date, milliseconds since 1970, or ISO 8601 text. A time in the past returns at once. */
  sleepUntil(name: string, time: Date | number | string, options?: SleepOptions): Promise<void>
  /** Waits for an event of this type, first in, first out. A timeout returns `default`, or throws an `EventTimeoutError`. */
  waitForEvent: Asks<Events>["waitForEvent"]
}

/** The function of a step. It may have any side effects, and its result is stored. It runs again if a crash interrupted it. */
export type StepFunction<T, Events = EventMap> = (step: StepContext<Events>) => T | Promise<T>

/** Options of a step of a class. */
export interface ClassStepOptions<T = unknown> extends Pick<StepOptions<T>, "timeout" | "deadline" | "sensitive" | "rollback"> {
  /** How failed attempts are retried. Default: as `static defaults` says, else the engine's `retry`: three attempts, one and two seconds apart. */
  readonly retries?: StepRetries
}

/** How the steps of a class are retried. Delays have no jitter. */
export interface StepRetries {
  /** The number of attempts, including the first one. Default 3. */
  readonly limit?: number
  /** The time before the second attempt. Default 1 second. */
  readonly delay?: Duration
  /** How the delay grows after each failure: not at all (`"constant"`), by `delay` (`"linear"`), or to its double (`"exponential"`, the default). */
  readonly backoff?: Backoff | "constant"
}

/** The options of `static defaults` for the steps of a class. */
export type StepDefaults = Pick<ClassStepOptions, "retries" | "timeout">

/** A `Step` that uses the context of the workflow's code. */
export class ContextStep<Events> implements Step<Events> {
  readonly #ctx: Context<Events>
  readonly #timeout: Duration | undefined
  readonly waitForEvent: Asks<Events>["waitForEvent"]

  constructor(ctx: Context<Events>, timeout: Duration | undefined) {
    this.#ctx = ctx
    this.#timeout = timeout
    this.waitForEvent = ctx.waitForEvent.bind(ctx)
  }

  do<T>(name: string, first: StepFunction<T, Events> | ClassStepOptions<T>, second?: StepFunction<T, Events> | ClassStepOptions<T>): Promise<T> {
    const [fn, options = {}] = typeof first === "function" ? [first, second as ClassStepOptions<T> | undefined] : [second as StepFunction<T, Events>, first]
    const { retries, timeout = this.#timeout, ...rest } = options
    return this.#ctx.do<T>(name, fn, {
      ...rest,
      ...(timeout === undefined ? undefined : { timeout }),
      ...(retries === undefined ? undefined : { retry: toRetry(retries) }),
    })
  }

  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void> {
    return this.#ctx.sleep(name, duration, options)
  }

  sleepUntil(name: string, time: Date | number | string, options?: SleepOptions): Promise<void> {
    return this.#ctx.sleepUntil(name, time, options)
  }
}

const fields: ReadonlySet<string> = new Set<keyof StepRetries>(["limit", "delay", "backoff"])

/** The retry options of the engine for those of a class. Delays have no jitter. */
export function toRetry(retries: StepRetries): RetryFields {
  for (const field of Object.keys(retries))
    if (!fields.has(field)) throw new PerdureError("BAD_OPTION", `retries.${field} is not an option; the options are ${[...fields].join(", ")}`)
  const { limit, delay, backoff } = retries
  if (limit !== undefined && limit !== Infinity && !(Number.isInteger(limit) && limit >= 1))
    throw new PerdureError("BAD_OPTION", `retries.limit is ${String(limit)}; give a whole number from 1 on, which counts all attempts, the first one included`)
  return {
    jitter: 0,
    ...(limit === undefined ? undefined : { maxAttempts: limit }),
    ...(delay === undefined ? undefined : { initialInterval: delay }),
    ...(backoff === undefined ? undefined : { backoff: backoff === "constant" ? "fixed" : backoff }),
  }
}
