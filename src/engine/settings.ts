import type { EncodeOptions } from "../core/values/value-codec.ts"
import { durationMs, type Duration } from "../core/time/duration.ts"
import { PerdureError } from "../core/errors.ts"
import { defaultLimits, type Limits } from "../core/workflow/input-limits.ts"
import type { PayloadCodecs, PayloadCodec } from "../core/values/payload-codecs.ts"
import type { StepContext } from "../core/workflow/context.ts"
import { checkRetry, type RetryOptions } from "../core/workflow/retry-policy.ts"
import type { Hooks } from "../core/workflow/workflow.ts"

/** What a user may set for an engine; everything has a default. */
export interface EngineOptions extends Hooks {
  /** When failed steps are tried again; workflows and steps override it. Default: three attempts, about one and two seconds apart. */
  readonly retry?: RetryOptions
  /** Lengths and sizes that are accepted. What is left out has its default. */
  readonly limits?: Partial<Limits>
  /** How long replay waits for a recorded ask that does not come, and workflow code may await something that is not of `ctx`. Default 5 seconds. */
  readonly replayGrace?: Duration
  /** How long a cancelled instance may clean up before it is forced to end. Default 30 seconds. */
  readonly cancelGrace?: Duration
  /** How many crashes of its worker in a row, without progress, make an instance `stalled`. Default 10. */
  readonly maxRecoveries?: number
  /** How long `close` lets running attempts finish. Default 10 seconds. */
  readonly drain?: Duration
  /** For how long a worker owns its instances after it has last renewed that, which it does every third of this time. Then others take over. Default 30 seconds. */
  readonly lease?: Duration
  /** How often to look for work that no hint told of. Default: 5 seconds, on PostgreSQL 30. */
  readonly sweep?: Duration
  /** Instances kept in memory; more wait in the store. Default 10,000. */
  readonly maxResidentInstances?: number
  /**
   * Attempts that run at the same time; more wait in line, those of a higher priority first. A step that waits for steps inside it does not count.
   * Default: any number.
   */
  readonly maxConcurrentSteps?: number
  /** Bytes of the journals of the instances kept in memory; idle ones leave first. Default 256 MiB. */
  readonly maxResidentBytes?: number
  /** Which task queues are served here; default: all. */
  readonly taskQueues?: readonly string[]
  /** `"ticks"`: only when `engine.tick()` is called, for a process that something else wakes up from time to time. Default `"always"`. */
  readonly execute?: "always" | "ticks"
  /** Encodes values before they are stored: to encrypt or compress them. It also decodes those that it has encoded. Default: values are stored as they are. */
  readonly codec?: PayloadCodec
  /** Codecs that encoded values which are still stored: they decode, and encode nothing. Default: none. */
  readonly retiredCodecs?: readonly PayloadCodec[]
  /**
   * Called once if the database file is deleted, replaced or overwritten while the engine is open. The engine has stopped by then, and refuses every call
   * with `DATABASE_GONE`. End the process here if something starts it again. Default: only an error in the log.
   */
  readonly onStoreGone?: (error: PerdureError) => void
  /** Called around every attempt of every step, the first one outermost. Default: none. */
  readonly interceptors?: readonly StepInterceptor[]
}

/** Surrounds an attempt of a step: `next()` calls the next interceptor, and at last the step's function. What it returns is the result of the attempt. */
export type StepInterceptor = (step: InterceptedStep, next: () => unknown) => unknown

/** The attempt that an interceptor surrounds. */
export interface InterceptedStep {
  /** The id of the instance. */
  readonly instance: string
  /** The name of its workflow. */
  readonly workflow: string
  /** The version of the workflow. */
  readonly version: string
  /** Unique in the run: the name, with a number from the second time on (`charge#2`), after the step that it is in (`outer/inner`). */
  readonly id: string
  /** The name of the step, as the code gave it. */
  readonly name: string
  /** Counts from 1, also across crashes. */
  readonly attempt: number
  /** What the step's function is given. */
  readonly context: StepContext
}

export interface EngineSettings {
  readonly retry: RetryOptions | undefined
  readonly hooks: Hooks
  readonly limits: Limits
  /** How results of steps are encoded. */
  readonly resultEncoding: EncodeOptions
  readonly replayGraceMs: number
  readonly cancelGraceMs: number
  readonly recoveriesMax: number
  readonly drainMs: number
  readonly leaseMs: number
  readonly sweepMs: number
  readonly residentMax: number
  readonly concurrentStepsMax: number
  readonly residentBytesMax: number
  /** A sleep longer than this costs a row, not memory. */
  readonly residentSleepMsMax: number
  /** An instance that nothing happened to for so long leaves memory. */
  readonly residentIdleMs: number
  /** Undefined: all. */
  readonly queues: readonly string[] | undefined
  readonly codecs: PayloadCodecs | undefined
  readonly interceptors: readonly StepInterceptor[]
  readonly execute: "always" | "ticks"
  readonly budget: WorkBudget | undefined
}

/** How much a worker may do in all. */
export interface WorkBudget {
  readonly instancesMax: number
  /** Attempts that begin. */
  readonly stepsMax: number
}

/** What every engine goes by. Of what only those need that others share a store with, it is the defaults. */
export function engineSettings(options: EngineOptions, { codecs, budget }: Partial<Pick<EngineSettings, "codecs" | "budget">> = {}): EngineSettings {
  if (options.retry !== undefined) checkRetry(options.retry)
  checkCount("maxRecoveries", options.maxRecoveries, 0)
  checkCount("maxConcurrentSteps", options.maxConcurrentSteps, 1)
  for (const [name, value] of Object.entries(options.limits ?? {})) checkCount(`limits.${name}`, value, 1)
  const limits = { ...defaultLimits, ...options.limits }
  return {
    retry: options.retry,
    hooks: options,
    limits,
    resultEncoding: { what: "result", bytesMax: limits.payloadBytesMax },
    replayGraceMs: durationOr(options.replayGrace, "replayGrace", 5_000),
    cancelGraceMs: durationOr(options.cancelGrace, "cancelGrace", 30_000),
    recoveriesMax: options.maxRecoveries ?? 10,
    drainMs: durationOr(options.drain, "drain", 10_000),
    leaseMs: 30_000,
    sweepMs: 5_000,
    residentMax: 10_000,
    concurrentStepsMax: options.maxConcurrentSteps ?? Infinity,
    residentBytesMax: 256 * 1024 * 1024,
    residentSleepMsMax: 10_000,
    residentIdleMs: 60_000,
    queues: undefined,
    codecs,
    interceptors: options.interceptors ?? [],
    execute: "always",
    budget,
  }
}

/** Throws where a number is not one that can be counted to. */
export function checkCount(name: string, value: number | undefined, least: number): void {
  if (value === undefined || value === Infinity || (Number.isInteger(value) && value >= least)) return
  throw new PerdureError("BAD_OPTION", `${name} is ${String(value)}; give a whole number from ${least} on`, { details: { option: name } })
}

export function durationOr(value: Duration | undefined, what: string, otherwise: number): number {
  return value === undefined ? otherwise : durationMs(value, what)
}
