import type { Duration } from "./duration.ts"
import type { RetryOptions } from "./retry-policy.ts"
import type { EventMap } from "./workflow.ts"

/** What workflow code is given: everything it may ask for. */
export interface Context<Events = EventMap> extends Asks<Events> {
  /** Aborted when the instance is cancelled. */
  readonly signal: AbortSignal
  readonly instance: InstanceInfo
  /** The id of the step asked for last, for queries and logs. */
  readonly currentStep: string | undefined
  readonly startTime: Date
  /** The time of the last entry seen: the same on replay. */
  now(): number
  /** From a generator seeded by instance and run: the same on replay. */
  random(): number
  uuid(): string
  /** Silent during replay. */
  readonly log: WorkflowLog
  waitForSignal: Asks<Events>["waitForEvent"]
}

/** What both workflow code and a step's function may ask for. */
export interface Asks<Events = EventMap> {
  /** Runs `fn` and records its result; a recorded result is never computed again. */
  do<T>(name: string, fn: (step: StepContext<Events>) => T | Promise<T>, options?: StepOptions): Promise<T>
  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void>
  sleepUntil(name: string, time: Date | number | string, options?: SleepOptions): Promise<void>
  /** Waits for an event of that type, first in first out. A timeout gives `default`, or throws an `EventTimeoutError`. */
  waitForEvent<K extends EventType<Events>, D>(type: K, options: WaitOptions & { readonly type?: never; readonly default: D }): Promise<Events[K] | D>
  waitForEvent<K extends EventType<Events>>(type: K, options?: WaitOptions & { readonly type?: never; readonly default?: never }): Promise<Events[K]>
  waitForEvent<K extends EventType<Events>, D>(name: string, options: WaitOptions & { readonly type: K; readonly default: D }): Promise<Events[K] | D>
  waitForEvent<K extends EventType<Events>>(name: string, options: WaitOptions & { readonly type: K; readonly default?: never }): Promise<Events[K]>
}

export type EventType<Events> = keyof Events & string

/** What a step's function is given. */
export interface StepContext<Events = EventMap> {
  /** Counts from 1, also across crashes. */
  readonly attempt: number
  /** The same for every attempt of this step, new after a restart: give it to whatever must not happen twice. */
  readonly idempotencyKey: string
  /** Aborted on timeout, cancel, terminate and a lost lease. */
  readonly signal: AbortSignal
  /** Nested steps, recorded under this one. */
  readonly step: Asks<Events>
}

export interface StepOptions {
  readonly retry?: RetryOptions
  /** Of one attempt. A result that comes later is dropped. */
  readonly timeout?: Duration
  /** Over all attempts, from the first one's start. */
  readonly deadline?: Duration
}

export interface SleepOptions {
  readonly signal?: AbortSignal
}

export interface WaitOptions {
  /** The event's type; default: the name. */
  readonly type?: string
  readonly timeout?: Duration
  /** What a timeout gives. */
  readonly default?: unknown
  readonly signal?: AbortSignal
}

export interface InstanceInfo {
  readonly id: string
  readonly workflow: string
  readonly version: string
  readonly run: number
  readonly startedAt: number
  readonly incarnation: string
}

export interface WorkflowLog {
  debug(message: string, data?: Record<string, unknown>): void
  info(message: string, data?: Record<string, unknown>): void
  warn(message: string, data?: Record<string, unknown>): void
  error(message: string, data?: Record<string, unknown>): void
}
