import { durationMs } from "../../core/time/duration.ts"
import type { ConcurrencyLimit, Debounce, FlowFunction, FlowOptions, RateLimit } from "../../core/workflow/flow-options.ts"
import type { StandardSchemaV1 } from "../../core/workflow/standard-schema.ts"
import { type Hooks, hookNames, type SensitiveData, type WorkflowSettings } from "../../core/workflow/workflow.ts"
import { type StepDefaults, type StepRetries, toRetry } from "./step.ts"

/**
 * What a class may say about its instances, in static fields. `Payload` is what `run` takes, `Input` what `create` takes; they differ where the
 * schema of the input changes the value. Without `as const` the compiler takes a duration for any text, so the types here accept any text; what is
 * no duration is refused when the class is first used.
 */
export interface ClassOptions<Payload, Input = Payload> extends Hooks {
  /** Default `"1"`. An instance keeps the version that it was started with. */
  readonly version?: string
  /** Checks the payload when an instance is created; `run` gets what the schema makes of it. */
  readonly input?: StandardSchemaV1<Input, Payload>
  /** Retries and timeout for all steps; options of a step win. Default: three attempts, one and two seconds apart, without a timeout. */
  readonly defaults?: WrittenDefaults
  /** For each instance: cancels it and ends it as failed. The timeout of steps is in `defaults`. */
  readonly timeout?: WrittenDuration
  /** Only workers that serve this queue execute the instances. */
  readonly taskQueue?: string
  /** `"error"` forbids the same step name twice; default `"number"`: the second is `name#2`. */
  readonly duplicateSteps?: string
  /** Values that are for the code alone: redacted wherever else they would be shown. Default: none. */
  readonly sensitive?: SensitiveData
  /** So many instances at a time, of the workflow or of each key. Default: any number. */
  readonly concurrency?: number | ConcurrencyLimit<Payload> | readonly (number | ConcurrencyLimit<Payload>)[]
  /** So many starts in a time, of the workflow or of each key. Default: any number. */
  readonly rateLimit?: Omit<RateLimit<Payload>, "per"> & { readonly per: WrittenDuration }
  /** Higher first among instances that wait; default 0. */
  readonly priority?: number | FlowFunction<Payload, number>
  /** A start waits for quiet; another one before then replaces its payload. Default: a start begins at once. */
  readonly debounce?: Omit<Debounce<Payload>, "quiet" | "max"> & { readonly quiet: WrittenDuration; readonly max?: WrittenDuration }
  /** At most one instance, or one of each key, that has not ended. Default: any number. */
  readonly singleton?: FlowOptions<Payload>["singleton"]
}

type WrittenDuration = number | string

interface WrittenDefaults {
  readonly retries?: Omit<StepRetries, "delay"> & { readonly delay?: WrittenDuration }
  readonly timeout?: WrittenDuration
}

const names = [
  ...hookNames,
  ...(["version", "input", "events", "timeout", "taskQueue", "duplicateSteps", "sensitive"] as const),
  ...(["concurrency", "rateLimit", "priority", "debounce", "singleton"] as const),
] satisfies readonly (keyof WorkflowSettings)[]

/** The options of the native definition that a class stands for. A static method keeps its class as `this`. */
export function settingsOf<P, I>(written: ClassOptions<P, I>): WorkflowSettings {
  const given = written as Readonly<Record<string, unknown>>
  const settings: Record<string, unknown> = { retry: toRetry(defaultsOf(written).retries ?? {}) }
  for (const name of names) {
    const value = given[name]
    if (value !== undefined) settings[name] = typeof value === "function" ? (value as () => unknown).bind(written) : value
  }
  return settings
}

export function defaultsOf<P, I>({ defaults = {} }: ClassOptions<P, I>): StepDefaults {
  const checked = defaults as StepDefaults
  const { retries, timeout } = checked
  if (retries?.delay !== undefined) durationMs(retries.delay, "defaults.retries.delay")
  if (timeout !== undefined) durationMs(timeout, "defaults.timeout")
  return checked
}
