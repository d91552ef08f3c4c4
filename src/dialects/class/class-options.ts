import { durationMs } from "../../core/time/duration.ts"
import type { ConcurrencyLimit, Debounce, FlowFunction, FlowOptions, RateLimit } from "../../core/workflow/flow-options.ts"
import type { StandardSchemaV1 } from "../../core/workflow/standard-schema.ts"
import { type Hooks, hookNames, type SensitiveData, type WorkflowSettings } from "../../core/workflow/workflow.ts"
import { type StepDefaults, type StepRetries, toRetry } from "./step.ts"

/**
 * The options of a workflow class, in static fields. `Payload` is the payload of `run`, `Input` that of `create`; they differ if the schema converts
 * the value. Without `as const` the compiler sees a duration as any string, so the types here accept any string. A wrong duration is refused when the
 * class is first used.
 */
export interface ClassOptions<Payload, Input = Payload> extends Hooks {
  /** The version. Default `"1"`. An instance keeps the version that it was started with. */
  readonly version?: string
  /** Checks and converts the payload when an instance is created; `run` gets the converted value. */
  readonly input?: StandardSchemaV1<Input, Payload>
  /** Retries and timeout for all steps. Options of a step take precedence. Default: three attempts, one and two seconds apart, without a timeout. */
  readonly defaults?: WrittenDefaults
  /** The time for one run. Then the instance is cancelled and ends as failed. The timeout of steps is in `defaults`. */
  readonly timeout?: WrittenDuration
  /** Only workers that serve this task queue execute the instances. */
  readonly taskQueue?: string
  /** `"error"` forbids a second step with the same name. Default `"number"`: the second step gets the id `name#2`. */
  readonly duplicateSteps?: string
  /** The data that only the code and callers of `result()` get. It is redacted wherever else it would be shown. Default: none. */
  readonly sensitive?: SensitiveData
  /** How many instances may run at a time, of the workflow or of each key. Default: any number. */
  readonly concurrency?: number | ConcurrencyLimit<Payload> | readonly (number | ConcurrencyLimit<Payload>)[]
  /** How many instances may start in a period, of the workflow or of each key. Default: any number. */
  readonly rateLimit?: Omit<RateLimit<Payload>, "per"> & { readonly per: WrittenDuration }
  /** The priority among waiting instances, higher first. Default 0. */
  readonly priority?: number | FlowFunction<Payload, number>
  /** A start waits until no other start has come for a while; another start before then replaces its payload. Default: an instance starts at once. */
  readonly debounce?: Omit<Debounce<Payload>, "quiet" | "max"> & { readonly quiet: WrittenDuration; readonly max?: WrittenDuration }
  /** Allows at most one instance that has not ended, of the workflow or of each key. Default: any number. */
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

/** The options of the class's workflow definition. A static method keeps its class as `this`. */
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
