import { cloudflareDurationMs, type WorkflowSleepDuration } from "./cloudflare-duration.ts"
import { WorkflowFatalError } from "./workflow-errors.ts"

/** How the delay grows from attempt to attempt. */
export type WorkflowBackoff = "constant" | "linear" | "exponential"
/** The delay before an attempt. */
export type WorkflowDelayDuration = WorkflowSleepDuration
/** How long an attempt or a wait may take. */
export type WorkflowTimeoutDuration = WorkflowSleepDuration
/** What of a step is hidden. */
export type WorkflowStepSensitivity = "output"

/** When a step is tried again, how long an attempt may take, and whether its output is hidden. */
export type WorkflowStepConfig = {
  /** Default: five retries after 10 seconds, exponential. */
  retries?: {
    limit: number
    delay: WorkflowDelayDuration | number | WorkflowDelayFunction
    backoff?: WorkflowBackoff
  }
  /** Of one attempt. Default 10 minutes. */
  timeout?: WorkflowTimeoutDuration | number
  /** `"output"`: what the step returns is shown nowhere. */
  sensitive?: WorkflowStepSensitivity
}

/** Gives the delay after a failed attempt. The backoff of the step then applies to it. */
export type WorkflowDelayFunction = (input: WorkflowDynamicDelayContext) => WorkflowDelayDuration | Promise<WorkflowDelayDuration>

/** What a delay function is given. */
export type WorkflowDynamicDelayContext = {
  /** The attempt that failed. */
  ctx: WorkflowStepContext<WorkflowDelayFunction>
  /** What the attempt threw. */
  error: Error
}

/** What a step's callback is given. `config.retries.delay` is absent where the delay is a function. */
export type WorkflowStepContext<Delay = WorkflowDelayDuration | number> = {
  /** The step's name, and the how-manyth step of that name it is. */
  step: {
    name: string
    count: number
  }
  /** Counts from 1. */
  attempt: number
  /** The step's config, with defaults. */
  config: {
    retries?: {
      limit: number
      backoff?: WorkflowBackoff
      // oxlint-disable-next-line typescript/no-empty-object-type -- as in the types of Cloudflare
    } & (Delay extends WorkflowDelayFunction ? {} : { delay: WorkflowDelayDuration | number })
    timeout?: WorkflowTimeoutDuration | number
    sensitive?: WorkflowStepSensitivity
  }
}

/** A step's config with all defaults filled in. */
export interface ResolvedStepConfig {
  readonly retries: { readonly limit: number; readonly delay: WorkflowDelayDuration | number | WorkflowDelayFunction; readonly backoff: WorkflowBackoff }
  readonly timeout: WorkflowTimeoutDuration | number
  readonly sensitive?: WorkflowStepSensitivity
}

const defaultTimeout = "10 minutes"
const defaultTimeoutMs = cloudflareDurationMs(defaultTimeout)
const configKeys: ReadonlySet<string> = new Set(["retries", "timeout", "sensitive"])
const retryKeys: ReadonlySet<string> = new Set(["limit", "delay", "backoff"])
const backoffs: ReadonlySet<unknown> = new Set(["constant", "linear", "exponential", undefined])

/** Fills in the defaults. Throws a `WorkflowFatalError` for what is wrong. */
export function resolveStepConfig(step: string, config: WorkflowStepConfig, retryDelayMs: number, what = "Step config"): ResolvedStepConfig {
  if (!isValid(config))
    throw new WorkflowFatalError(`${what} for "${step}" is in a invalid format. See https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/`)
  const { retries, timeout = defaultTimeout, sensitive } = config
  return {
    retries: { limit: 5, delay: retryDelayMs, backoff: "exponential", ...retries },
    timeout,
    ...(sensitive === undefined ? undefined : { sensitive }),
  }
}

function isValid(config: unknown): boolean {
  if (typeof config !== "object" || config === null || !hasOnly(config, configKeys)) return false
  const { retries, timeout, sensitive } = config as WorkflowStepConfig
  if (sensitive !== undefined && sensitive !== "output") return false
  if (timeout !== undefined && !(cloudflareDurationMs(timeout) > 0)) return false
  return retries === undefined || areRetriesValid(retries)
}

function areRetriesValid(retries: unknown): boolean {
  if (typeof retries !== "object" || retries === null || !hasOnly(retries, retryKeys)) return false
  const { limit, delay, backoff } = retries as { limit: unknown; delay: unknown; backoff: unknown }
  if (typeof limit !== "number" || !(limit >= 0) || !backoffs.has(backoff)) return false
  return typeof delay === "function" || cloudflareDurationMs(delay) >= 0
}

function hasOnly(value: object, keys: ReadonlySet<string>): boolean {
  return Object.entries(value).every(([key, field]) => field === undefined || keys.has(key))
}

/** Milliseconds that an attempt may take. */
export function stepTimeoutMs({ timeout }: ResolvedStepConfig): number {
  return timeout === defaultTimeout ? defaultTimeoutMs : cloudflareDurationMs(timeout)
}

/** The config that a callback sees. */
export function shownConfig({ retries: { limit, delay, backoff }, timeout, sensitive }: ResolvedStepConfig): WorkflowStepContext["config"] {
  // Every attempt of every step has one, so it is made without the rest of a copy.
  const retries = typeof delay === "function" ? { limit, backoff } : { limit, backoff, delay }
  return (sensitive === undefined ? { timeout, retries } : { timeout, sensitive, retries }) as WorkflowStepContext["config"]
}

/** Milliseconds before the next attempt: `failures` counts the attempts that failed. */
export function backedOffMs(backoff: WorkflowBackoff, baseMs: number, failures: number): number {
  if (backoff === "exponential") return baseMs * 2 ** (failures - 1)
  return backoff === "linear" ? baseMs * failures : baseMs
}
