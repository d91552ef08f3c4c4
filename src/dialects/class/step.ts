import type { Asks, Context, SleepOptions, StepContext, StepOptions } from "../../core/workflow/context.ts"
import type { Duration } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Backoff, RetryFields } from "../../core/workflow/retry-policy.ts"
import type { EventMap } from "../../core/workflow/workflow.ts"

/** What the `run` of a class asks with. */
export interface Step<Events = EventMap> {
  /** Runs `fn` and records its result; a recorded result is never computed again. When its attempts are used up, throws a `StepFailedError`. */
  do<T>(name: string, fn: StepFunction<T, Events>, options?: ClassStepOptions<NoInfer<T>>): Promise<T>
  do<T>(name: string, options: ClassStepOptions<NoInfer<T>>, fn: StepFunction<T, Events>): Promise<T>
  /** Sleeps for this long, also across crashes and deploys. Rejects with a `CancelledError` if the instance is cancelled. */
  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void>
  /** Sleeps until this time: a Date, milliseconds since 1970 or ISO 8601 text. A time in the past returns at once. */
  sleepUntil(name: string, time: Date | number | string, options?: SleepOptions): Promise<void>
  /** Waits for an event of that type, first in first out. A timeout gives `default`, or throws an `EventTimeoutError`. */
  waitForEvent: Asks<Events>["waitForEvent"]
}

/** The function of a step. It may do anything; what it returns is stored. It runs again after a crash that cut it off. */
export type StepFunction<T, Events = EventMap> = (step: StepContext<Events>) => T | Promise<T>

/** Options of a step of a class. */
export interface ClassStepOptions<T = unknown> extends Pick<StepOptions<T>, "timeout" | "deadline" | "sensitive" | "rollback"> {
  /** When a failed attempt is followed by another. Default: what `static defaults` says, else the engine's `retry`: three attempts, one and two seconds apart. */
  readonly retries?: StepRetries
}

/** When the steps of a class are tried again. Delays are as they are written, without jitter. */
export interface StepRetries {
  /** All attempts, the first one included. Default 3. */
  readonly limit?: number
  /** The time before the second attempt. Default 1 second. */
  readonly delay?: Duration
  /** How the delay grows after each failure: not at all (`"constant"`), by `delay` (`"linear"`), or to twice as much (`"exponential"`, the default). */
  readonly backoff?: Backoff | "constant"
}

/** What `static defaults` says for the steps of a class. */
export type StepDefaults = Pick<ClassStepOptions, "retries" | "timeout">

/** A `Step` over the context of native workflow code. */
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

/** Delays are as they are written: no jitter. */
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
