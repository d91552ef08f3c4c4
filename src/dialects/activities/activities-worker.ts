// Users compile this file's types, and their target may not have AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import { Deferred } from "../../core/execution/deferred.ts"
import { PerdureError } from "../../core/errors.ts"
import { checkQueue } from "../../core/workflow/input-limits.ts"
import { defaultQueue } from "../../core/workflow/task-queue.ts"
import type { AnyActivity } from "../../core/workflow/activity.ts"
import type { WorkflowSource } from "../../core/workflow/workflow-source.ts"
import type { EngineOptions, TaskQueueRate } from "../../engine/settings.ts"
import { activityWorkflow } from "../../engine/tasks/activity-workflow.ts"
import type { Logger } from "../../ports/host.ts"
import type { StoreProvider } from "../../ports/store.ts"

/** Options of a worker: its task queue, what it runs, and the options of an engine. */
export interface WorkflowWorkerOptions extends Omit<EngineOptions, "taskQueues" | "taskQueueRates" | "activities" | "execute"> {
  /** The store, as `sqlite` or `postgres` returns it. */
  readonly store: StoreProvider
  /** The task queue that the worker serves, or several. Default `"default"`. */
  readonly taskQueue?: string | readonly string[]
  /** The workflows that the worker executes. Default: none. */
  readonly workflows?: readonly WorkflowSource[]
  /** The activities that the worker runs. Default: none. */
  readonly activities?: readonly AnyActivity[]
  /** How many activities begin in a second, over all workers of the task queue that name a rate. Default: no rate. */
  readonly maxTaskQueueActivitiesPerSecond?: number
  /**
   * `"worker"` executes workflows. `"client"` runs activities only. Default: `"worker"`, except for a worker without workflows on SQLite: one process executes
   * the workflows of a file, and that should be one which has them.
   */
  readonly role?: "worker" | "client"
  /** The logger. Default: warnings and errors go to the console. */
  readonly log?: Logger
}

/** The options with which the engine of a worker is opened. */
export interface WorkerEngineOptions extends EngineOptions {
  readonly store: StoreProvider
  readonly workflows: readonly WorkflowSource[]
  readonly role?: "worker" | "client"
  readonly log?: Logger
}

interface RunningEngine {
  close(): Promise<void>
}

/** The run and the shutdown of `WorkflowWorker`. */
export abstract class ActivitiesWorker implements AsyncDisposable {
  readonly #options: WorkerEngineOptions
  readonly #stop = new Deferred()
  #isStopped = false
  #run: Promise<void> | undefined

  /** Throws `BAD_OPTION` or `BAD_NAME` for wrong options. The store is opened by `run`. */
  constructor(options: WorkflowWorkerOptions) {
    this.#options = this.#engineOptions(options)
  }

  /** Opens the engine. */
  protected abstract open(options: WorkerEngineOptions): Promise<RunningEngine>

  /**
   * Serves the task queue, and resolves after `shutdown`. Rejects if the store cannot be opened, or is gone later (`DATABASE_GONE`). Further calls return the
   * same promise.
   *
   * @example
   * const worker = new WorkflowWorker({ store: sqlite("app.db"), taskQueue: "orders", workflows: [processOrder], activities: [reserveInventory] })
   * process.once("SIGTERM", () => worker.shutdown())
   * await worker.run()
   */
  run(): Promise<void> {
    if (this.#run === undefined && this.#isStopped)
      return Promise.reject(new PerdureError("ENGINE_CLOSED", "this worker was shut down before it ran; create another WorkflowWorker"))
    this.#run ??= this.#serve()
    return this.#run
  }

  /** Takes nothing new, lets running activities finish for at most `drain`, and closes the store. Resolves when that is done. */
  async shutdown(): Promise<void> {
    this.#isStopped = true
    this.#stop.resolve(undefined)
    // The caller of `run` gets its error.
    await this.#run?.catch(() => undefined)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown()
  }

  async #serve(): Promise<void> {
    const engine = await this.open(this.#options)
    try {
      await this.#stop.promise
    } finally {
      await engine.close()
    }
  }

  #engineOptions({
    taskQueue = defaultQueue,
    workflows = [],
    activities = [],
    maxTaskQueueActivitiesPerSecond,
    ...rest
  }: WorkflowWorkerOptions): WorkerEngineOptions {
    const taskQueues = typeof taskQueue === "string" ? [taskQueue] : taskQueue
    if (taskQueues.length === 0) throw new PerdureError("BAD_OPTION", 'taskQueue names no queue; give one such as "orders", or a list of several')
    for (const queue of taskQueues) checkQueue(queue)
    const rate = maxTaskQueueActivitiesPerSecond === undefined ? undefined : perSecond(maxTaskQueueActivitiesPerSecond)
    return {
      ...rest,
      taskQueues,
      activities,
      // An engine that has activities registers the built-in workflow itself.
      workflows: activities.length > 0 ? workflows : [...workflows, activityWorkflow],
      ...(rate && { taskQueueRates: Object.fromEntries(taskQueues.map((queue) => [queue, rate])) }),
      onStoreGone: (error: PerdureError) => {
        this.#stop.reject(error)
        rest.onStoreGone?.(error)
      },
    }
  }
}

/** A rate that is no whole number is kept by a longer or shorter period. */
function perSecond(rate: number): TaskQueueRate {
  if (!Number.isFinite(rate) || rate <= 0)
    throw new PerdureError("BAD_OPTION", `maxTaskQueueActivitiesPerSecond is ${String(rate)}; give a number above 0, such as 10 or 0.5`)
  return Number.isInteger(rate) ? { limit: rate, per: 1_000 } : { limit: Math.ceil(rate), per: Math.round((Math.ceil(rate) * 1_000) / rate) }
}
