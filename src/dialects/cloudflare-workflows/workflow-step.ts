import type { WorkflowSleepDuration } from "./cloudflare-duration.ts"
import type {
  WorkflowBackoff,
  WorkflowDelayDuration,
  WorkflowDelayFunction,
  WorkflowStepConfig,
  WorkflowStepContext,
  WorkflowStepSensitivity,
  WorkflowTimeoutDuration,
} from "./step-config.ts"

type StaticDelay = WorkflowDelayDuration | number

// The two shapes by which the overloads of `do` tell what the callback's context has.
type ConfigWithStaticDelay = Omit<WorkflowStepConfig, "retries"> & { retries?: { limit: number; delay: StaticDelay; backoff?: WorkflowBackoff } }
type ConfigWithDelayFunction = Omit<WorkflowStepConfig, "retries"> & {
  retries: { limit: number; delay: WorkflowDelayFunction; backoff?: WorkflowBackoff }
}

/** What `run` asks with. Each method is durable: what it gave is recorded, and comes from the record after a crash. */
export interface WorkflowStep {
  /** Runs `callback` and records its result. It is tried again as the config says: by default five times after the first. */
  do<T>(name: string, callback: (ctx: WorkflowStepContext) => Promise<T>, rollbackOptions?: WorkflowStepRollbackOptions<T>): Promise<T>
  do<T>(
    name: string,
    config: ConfigWithDelayFunction,
    callback: (ctx: WorkflowStepContext<WorkflowDelayFunction>) => Promise<T>,
    rollbackOptions?: WorkflowStepRollbackOptions<T, WorkflowDelayFunction>,
  ): Promise<T>
  do<T>(
    name: string,
    config: ConfigWithStaticDelay,
    callback: (ctx: WorkflowStepContext<StaticDelay>) => Promise<T>,
    rollbackOptions?: WorkflowStepRollbackOptions<T, StaticDelay>,
  ): Promise<T>
  // The widest overload comes last: before the other two it would hide them.
  do<T>(
    name: string,
    config: WorkflowStepConfig,
    callback: (ctx: WorkflowStepContext) => Promise<T>,
    rollbackOptions?: WorkflowStepRollbackOptions<T>,
  ): Promise<T>
  /** Sleeps for this long, also across crashes. */
  sleep: (name: string, duration: WorkflowSleepDuration) => Promise<void>
  /** Sleeps until this time. Rejects for a time in the past. */
  sleepUntil: (name: string, timestamp: Date | number) => Promise<void>
  /** Waits for an event, by default for 24 hours. Events of a type are received first in, first out. */
  waitForEvent<T>(name: string, options: { type: string; timeout?: WorkflowTimeoutDuration | number }): Promise<WorkflowStepEvent<T>>
}

/** An event that a step received. */
export type WorkflowStepEvent<T> = {
  /** What the sender gave. */
  payload: Readonly<T>
  /** When the event was sent. */
  timestamp: Date
  /** The type that the sender named. */
  type: string
  /** Absent: the payload may be shown. */
  sensitive?: WorkflowStepSensitivity
}

/** How often a rollback is tried, and how long each attempt may take. */
export type WorkflowStepRollbackConfig = Pick<WorkflowStepConfig, "retries" | "timeout">

/** How a step is undone if the instance fails. */
export type WorkflowStepRollbackOptions<T = unknown, Delay = StaticDelay> = {
  /** Undoes the step. */
  rollback: WorkflowRollbackHandler<T, Delay>
  /** Default: as for steps. */
  rollbackConfig?: WorkflowStepRollbackConfig
}

/** Undoes a step. It is a durable step itself. */
export type WorkflowRollbackHandler<T = unknown, Delay = StaticDelay> = (ctx: WorkflowRollbackContext<T, Delay>) => Promise<void>

/** What a rollback is given. `output` is undefined where the step did not complete. */
export type WorkflowRollbackContext<T = unknown, Delay = StaticDelay> = {
  /** The last attempt of the step that is undone. */
  ctx: WorkflowStepContext<Delay>
  /** What the instance failed with. */
  error: Error
  /** What the step returned. */
  output: T | undefined
  /** @deprecated Use `ctx.step.name` and `ctx.step.count`. */
  stepName: string
}
