import type { EncodeOptions } from "../core/values/value-codec.ts"
import { durationMs, type Duration } from "../core/time/duration.ts"
import { PerdureError } from "../core/errors.ts"
import { checkQueue, defaultLimits, type Limits } from "../core/workflow/input-limits.ts"
import type { PayloadCodecs, PayloadCodec } from "../core/values/payload-codecs.ts"
import type { DueTimes } from "./runner/due-times.ts"
import type { EnqueuedHook } from "./enqueued-hook.ts"
import type { StepContext } from "../core/workflow/context.ts"
import { checkRetry, type RetryOptions } from "../core/workflow/retry-policy.ts"
import type { AnyActivity } from "../core/workflow/activity.ts"
import type { Hooks } from "../core/workflow/workflow.ts"

/** The options of an engine. Every option has a default. */
export interface EngineOptions extends Hooks {
  /** When failed steps are tried again; workflows and steps override it. Default: three attempts, about one and two seconds apart. */
  readonly retry?: RetryOptions
  /** The lengths and sizes that are accepted. A limit that you leave out has its default. */
  readonly limits?: Partial<Limits>
  /** How long replay waits for a recorded ask that the code does not make, and how long workflow code may await something that is not of `ctx`. Default 5 seconds. */
  readonly replayGrace?: Duration
  /** How long a cancelled instance may clean up before it is forced to end. Default 30 seconds. */
  readonly cancelGrace?: Duration
  /** How many crashes of its worker in a row, without progress, stall an instance. Default 10. */
  readonly maxRecoveries?: number
  /** How long `close` lets running attempts finish. Default 10 seconds. */
  readonly drain?: Duration
  /** How long a worker owns its instances after it has renewed its lease. It renews the lease every third of this time. Default 30 seconds. */
  readonly lease?: Duration
  /** How often a worker looks for work without a hint. Default: 5 seconds, on PostgreSQL 30. */
  readonly sweep?: Duration
  /** How many instances are kept in memory. Further instances wait in the store. Default 10,000. */
  readonly maxResidentInstances?: number
  /**
   * How many attempts of steps run at the same time. Further attempts wait, and those of a higher priority go first. A step that waits for its nested
   * steps does not count. Default: any number.
   */
  readonly maxConcurrentSteps?: number
  /** How many bytes of journals are kept in memory. Idle instances leave memory first. Default 256 MiB. */
  readonly maxResidentBytes?: number
  /** The task queues that this engine serves. Default: all. */
  readonly taskQueues?: readonly string[]
  /** The activities that this engine runs: those of its own workflows, and those that wait in the task queues which it serves. Default: none. */
  readonly activities?: readonly AnyActivity[]
  /** How many activities run at the same time. Default 100. */
  readonly maxConcurrentActivities?: number
  /** How fast activities are taken from a task queue, over all processes that name a rate for it: at most `limit` in each period. `taskQueues` must name the queue, too. Default: no rate. */
  readonly taskQueueRates?: Readonly<Record<string, TaskQueueRate>>
  /** `"ticks"`: the engine executes only when you call `engine.tick()`, for a process that a scheduler wakes up from time to time. Default `"always"`. */
  readonly execute?: "always" | "ticks"
  /** Encodes values before they are stored, to encrypt or compress them, and decodes them again. Default: values are stored as they are. */
  readonly codec?: PayloadCodec
  /** Codecs that encoded values in the past. They decode these values, and encode nothing. Default: none. */
  readonly retiredCodecs?: readonly PayloadCodec[]
  /**
   * Called once if the database file is deleted, replaced or overwritten while the engine is open. The engine has stopped by then, and refuses every call
   * with `DATABASE_GONE`. End the process here if a supervisor starts it again. Default: only an error in the log.
   */
  readonly onStoreGone?: (error: PerdureError) => void
  /**
   * Called after each commit of this process that makes an instance runnable, with the instance and the reason. A dispatcher of ticks uses it as a doorbell.
   * A crash can lose a call, so `nextDueAt` and `more` of `tick` are what a dispatcher relies on. Default: none.
   */
  readonly onEnqueued?: EnqueuedHook
  /** Called around every attempt of every step, the first one outermost. Default: none. */
  readonly interceptors?: readonly StepInterceptor[]
}

/** At most `limit` activities of a task queue begin in each period. */
export interface TaskQueueRate {
  /** The number of activities; a whole number from 1 on. */
  readonly limit: number
  /** The period. */
  readonly per: Duration
}

/** Surrounds an attempt of a step. `next()` calls the next interceptor, and the last one calls the step's function. Its return value is the result of the attempt. */
export type StepInterceptor = (step: InterceptedStep, next: () => unknown) => unknown

/** The attempt that an interceptor surrounds. */
export interface InterceptedStep {
  /** The id of the instance. */
  readonly instance: string
  /** The name of its workflow. */
  readonly workflow: string
  /** The version of the workflow. */
  readonly version: string
  /** Unique in the run: the name, with a number from the second use on (`charge#2`). The id of a nested step begins with its outer step (`outer/inner`). */
  readonly id: string
  /** The name of the step, as the code gives it. */
  readonly name: string
  /** Counts from 1, also across crashes. */
  readonly attempt: number
  /** The timeout of the attempt in milliseconds. Absent: it has none. */
  readonly timeoutMs?: number
  /** The context of the step's function. */
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
  /** An instance that sleeps longer than this leaves memory. */
  readonly residentSleepMsMax: number
  /** An instance that is idle for this long leaves memory. */
  readonly residentIdleMs: number
  /** The task queues that are served; undefined: all. */
  readonly queues: readonly string[] | undefined
  readonly activities: readonly AnyActivity[]
  /** The task queues whose activities run in this engine; undefined: all. */
  readonly activityQueues: readonly string[] | undefined
  readonly concurrentActivitiesMax: number
  /** The rates at which tasks are claimed, by task queue. */
  readonly queueRates: ReadonlyMap<string, QueueRate>
  readonly codecs: PayloadCodecs | undefined
  readonly interceptors: readonly StepInterceptor[]
  readonly execute: "always" | "ticks"
  readonly budget: WorkBudget | undefined
  /** Undefined: timers are due when the code wants them. */
  readonly dueTimes: DueTimes | undefined
}

/** At most `max` tasks in `perMs`. */
export interface QueueRate {
  readonly max: number
  readonly perMs: number
}

/** How much a worker may do in all: the bounds of a tick. */
export interface WorkBudget {
  readonly instancesMax: number
  /** The most attempts that may begin. */
  readonly stepsMax: number
}

/** Checks the options of an engine, and fills in the defaults. The options of a shared store keep their defaults here: see `sharedStoreSettings`. */
export function engineSettings(
  options: EngineOptions,
  { codecs, budget, dueTimes }: Partial<Pick<EngineSettings, "codecs" | "budget" | "dueTimes">> = {},
): EngineSettings {
  if (options.retry !== undefined) checkRetry(options.retry)
  checkCount("maxRecoveries", options.maxRecoveries, 0)
  checkCount("maxConcurrentSteps", options.maxConcurrentSteps, 1)
  checkCount("maxConcurrentActivities", options.maxConcurrentActivities, 1)
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
    activities: checkActivities(options.activities ?? []),
    activityQueues: undefined,
    concurrentActivitiesMax: options.maxConcurrentActivities ?? 100,
    queueRates: new Map(Object.entries(options.taskQueueRates ?? {}).map(([queue, rate]) => [queue, queueRate(queue, rate)])),
    codecs,
    interceptors: options.interceptors ?? [],
    execute: "always",
    budget,
    dueTimes,
  }
}

/** Adds the options that matter only on a store that processes share: they have no effect in a Durable Object. */
export function sharedStoreSettings(settings: EngineSettings, options: EngineOptions): EngineSettings {
  const { execute = settings.execute } = options
  if (execute !== "always" && execute !== "ticks") throw new PerdureError("BAD_OPTION", `execute is ${String(execute)}; give "always" or "ticks"`)
  checkCount("maxResidentInstances", options.maxResidentInstances, 1)
  checkCount("maxResidentBytes", options.maxResidentBytes, 0)
  const queues = options.taskQueues && checkQueues(options.taskQueues)
  for (const queue of settings.queueRates.keys())
    if (options.taskQueues?.includes(queue) !== true)
      throw new PerdureError(
        "BAD_OPTION",
        `taskQueueRates names queue "${queue}", which is not among the taskQueues of this engine; name all that it serves there`,
        {
          details: { option: "taskQueueRates" },
        },
      )
  return {
    ...settings,
    execute,
    leaseMs: durationOr(options.lease, "lease", settings.leaseMs),
    sweepMs: durationOr(options.sweep, "sweep", settings.sweepMs),
    residentMax: options.maxResidentInstances ?? settings.residentMax,
    residentBytesMax: options.maxResidentBytes ?? settings.residentBytesMax,
    queues,
    activityQueues: queues,
  }
}

/** Adds the options of a Durable Object. Its instance is executed there whatever its queue is, and its activities only if their queues are named. */
export function objectSettings(settings: EngineSettings, { taskQueues }: Pick<EngineOptions, "taskQueues">): EngineSettings {
  return { ...settings, activityQueues: taskQueues && checkQueues(taskQueues) }
}

function checkQueues(queues: readonly string[]): readonly string[] {
  if (!Array.isArray(queues) || queues.length === 0)
    throw new PerdureError("BAD_OPTION", `taskQueues names no queue; give a list such as ["default", "reports"], or omit it to serve all queues`)
  for (const queue of queues as readonly string[]) checkQueue(queue)
  return [...new Set(queues as readonly string[])]
}

function checkActivities(activities: readonly AnyActivity[]): readonly AnyActivity[] {
  const isList = Array.isArray(activities) && activities.every((activity: AnyActivity) => typeof activity?.run === "function")
  if (!isList) throw new PerdureError("BAD_OPTION", "activities is not a list of activities; give what defineActivity returns: activities: [reserve, ship]")
  const names = new Set<string>()
  for (const { name } of activities as readonly AnyActivity[]) {
    if (names.has(name)) throw new PerdureError("BAD_OPTION", `activity "${name}" is registered twice; give one of them another name`)
    names.add(name)
  }
  return [...(activities as readonly AnyActivity[])]
}

function queueRate(queue: string, { limit, per }: TaskQueueRate): QueueRate {
  checkQueue(queue)
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new PerdureError("BAD_OPTION", `the limit of taskQueueRates.${queue} is ${String(limit)}; give a whole number from 1 on`)
  return { max: limit, perMs: durationMs(per, `per of taskQueueRates.${queue}`) }
}

/** Throws `BAD_OPTION` unless the value is a whole number from `least` on, or Infinity. */
function checkCount(name: string, value: number | undefined, least: number): void {
  if (value === undefined || value === Infinity || (Number.isInteger(value) && value >= least)) return
  throw new PerdureError("BAD_OPTION", `${name} is ${String(value)}; give a whole number from ${least} on`, { details: { option: name } })
}

function durationOr(value: Duration | undefined, what: string, otherwise: number): number {
  return value === undefined ? otherwise : durationMs(value, what)
}
