import { durationMs, type Duration } from "../time/duration.ts"
import { PerdureError } from "../errors.ts"
import { checkQueue, defaultLimits } from "./input-limits.ts"
import { checkRetry, type RetryFields } from "./retry-policy.ts"
import { checkStepName } from "./step-id.ts"

/**
 * An activity: a function with a name, which a workflow asks for by that name. It runs in a process that offers it, which may be another process than the
 * workflow's. `In` is its input, `Out` its result.
 */
export interface Activity<in out In = unknown, out Out = unknown> {
  /** The name by which workflows ask for the activity. */
  readonly name: string
  /** The options that were given to `defineActivity`. */
  readonly options: ActivityDefaults
  /** The code, without its types. */
  readonly run: ActivityCode
  /** Carries types only; the property does not exist at run time. */
  readonly types?: { readonly input: In; readonly result: Out }
}

/** Any activity, if its types do not matter. It is made of `any`, because a definition is invariant in its input. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyActivity = Activity<any, any>
/** The input of an activity. */
export type ActivityInputOf<A extends AnyActivity | string> = A extends AnyActivity ? NonNullable<A["types"]>["input"] : unknown
/** The result of an activity; unknown if the activity is given by name. */
export type ActivityResultOf<A extends AnyActivity | string> = A extends AnyActivity ? NonNullable<A["types"]>["result"] : unknown
export type ActivityCode = (input: never, context: ActivityContext) => unknown

/** The second argument of an activity's function. */
export interface ActivityContext {
  /** The number of the attempt, from 1 on; crashes do not reset it. */
  readonly attempt: number
  /** Aborts on a timeout, when the workflow does not wait for the activity any more, and when another process has taken the attempt over. */
  readonly signal: AbortSignal
  /** A key that is the same for every attempt of this activity. Give it to services that must not act twice. */
  readonly idempotencyKey: string
  /** What the last heartbeat of the earlier attempts reported; undefined if there was none. */
  readonly lastHeartbeat: unknown
  /** The id of the instance whose workflow asked for the activity. */
  readonly instance: string
  /** Reports that the activity is alive and, with `details`, how far it has come. The next attempt gets the last details. Throws the reason of `signal` once that is aborted. */
  readonly heartbeat: (details?: unknown) => void
}

/** Options of an activity. A call of `ctx.activity` overrides those of the definition. */
export interface ActivityDefaults {
  /** How failed attempts are retried. `maxAttempts` is 3 if you leave it out; other fields are then as for steps. Default: one attempt. */
  readonly retry?: RetryFields
  /** The time for one attempt. Default: none. */
  readonly timeout?: Duration
  /** The longest time without a heartbeat. Then another process takes the attempt over. Default: none; a process that dies is noticed all the same. */
  readonly heartbeatTimeout?: Duration
  /** The longest time until a process takes an attempt up. Then the activity fails with `START_TIMEOUT`. Default: none. */
  readonly scheduleToStartTimeout?: Duration
  /** The time for all attempts, from the call on. Then the activity fails with `DEADLINE_EXCEEDED`. Default: none. */
  readonly scheduleToCloseTimeout?: Duration
  /** The task queue whose workers run the activity. Default: the queue of the instance. */
  readonly taskQueue?: string
  /** Only the code gets the activity's result and error; they are redacted wherever else they would be shown. Default false. */
  readonly sensitive?: boolean
}

/** Options of `ctx.activity`. */
export interface ActivityOptions<In = unknown> extends ActivityDefaults {
  /** The input of the activity. Its definition decides whether an input is required. */
  readonly input?: In
}

/** The options of an activity: `input` may be left out if the activity takes none. */
export type ActivityArgumentsOf<A extends AnyActivity | string> = A extends AnyActivity
  ? undefined extends ActivityInputOf<A>
    ? [options?: ActivityOptions<ActivityInputOf<A>>]
    : [ActivityInputOf<A>] extends [void]
      ? [options?: ActivityOptions<ActivityInputOf<A>>]
      : [options: ActivityOptions<ActivityInputOf<A>> & { readonly input: ActivityInputOf<A> }]
  : [options?: ActivityOptions]

type ActivityFunction<In, Out> = (input: In, context: ActivityContext) => Out | Promise<Out>

/**
 * Defines an activity: a name, and the function that runs. The function is ordinary code: it may use the network and the clock. Throws `BAD_NAME` for a
 * wrong name, and `BAD_OPTION` or `BAD_DURATION` for a wrong option.
 *
 * @example
 * const resize = defineActivity("resize", { heartbeatTimeout: "10s" }, async (images: string[], { heartbeat, lastHeartbeat }) => {
 *   for (let done = Number(lastHeartbeat ?? 0); done < images.length; heartbeat(++done)) await resizeImage(images[done])
 * })
 */
export function defineActivity<In = void, Out = unknown>(name: string, run: ActivityFunction<In, Out>): Activity<In, Awaited<Out>>
export function defineActivity<In = void, Out = unknown>(name: string, options: ActivityDefaults, run: ActivityFunction<In, Out>): Activity<In, Awaited<Out>>
export function defineActivity(name: string, first: ActivityDefaults | ActivityCode, second?: ActivityCode): AnyActivity {
  const options = typeof first === "function" ? {} : first
  const run = typeof first === "function" ? first : second
  checkStepName(name, defaultLimits.stepNameLengthMax)
  if (typeof run !== "function")
    throw new PerdureError("BAD_OPTION", `activity "${name}" has no function to run; write defineActivity("${name}", async (input) => …)`)
  checkActivityOptions(name, options)
  return { name, options, run }
}

/** Recognises an activity by its shape, because another copy of the package may have defined it. A workflow has a version besides. */
export function isActivity(value: unknown): value is AnyActivity {
  if (typeof value !== "object" || value === null || "version" in value) return false
  const { name, options, run } = value as Partial<Record<keyof AnyActivity, unknown>>
  return typeof name === "string" && typeof options === "object" && typeof run === "function"
}

/** Throws for wrong options of an activity. */
export function checkActivityOptions(name: string, options: ActivityDefaults): void {
  if (typeof options !== "object" || options === null) throw new PerdureError("BAD_OPTION", `the options of activity "${name}" are not an object`)
  for (const key of ["timeout", "heartbeatTimeout", "scheduleToStartTimeout", "scheduleToCloseTimeout"] as const)
    if (options[key] !== undefined) durationMs(options[key], `${key} of activity "${name}"`)
  if (options.retry !== undefined && typeof options.retry !== "object")
    throw new PerdureError("BAD_OPTION", `retry of activity "${name}" is not an object; write retry: { maxAttempts: 3 }`)
  if (options.retry !== undefined) checkRetry(options.retry)
  if (options.taskQueue !== undefined) checkQueue(options.taskQueue)
  if (options.sensitive !== undefined && typeof options.sensitive !== "boolean")
    throw new PerdureError("BAD_OPTION", `sensitive of activity "${name}" is of type ${typeof options.sensitive}; give true or false`)
}
