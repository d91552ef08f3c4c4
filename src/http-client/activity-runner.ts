// Users compile this file's types, and their target may not have AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import { PerdureError } from "../core/errors.ts"
import { durationMs, type Duration } from "../core/time/duration.ts"
import type { AnyActivity } from "../core/workflow/activity.ts"
import type { ClaimedActivity, TaskControl } from "../client-api/task-control.ts"
import { ActivityRun } from "./activity-run.ts"
import { RemoteTasks } from "./remote-tasks.ts"
import { randomId } from "./request-id.ts"
import { realPace, sleep } from "./retry-pacing.ts"
import { type ConnectOptions, Transport } from "./transport.ts"

const claimMax = 100
const waitMs = 30_000
const retryMs = 1_000
/** The server will refuse every further claim, too. */
const final = new Set<string>(["UNAUTHORIZED", "FORBIDDEN", "NO_TASK_QUEUES", "BAD_REQUEST", "BAD_OPTION", "BAD_NAME", "UNKNOWN_ROUTE"])

/** Options of `runActivities`, besides those of `connect`. */
export interface ActivityRunnerOptions extends ConnectOptions {
  /** The task queue to serve. */
  readonly queue: string
  /** The activities to run. */
  readonly activities: readonly AnyActivity[]
  /** The name of this worker, which `why` and `queues` show. Default: a random one. */
  readonly worker?: string
  /** How many activities run at the same time. Default 100. */
  readonly maxConcurrentActivities?: number
  /** How long `stop` lets running activities finish. Default 10 seconds. */
  readonly drain?: Duration
  /** Gets errors after which the worker goes on, such as a server that does not answer. Default: they are ignored. */
  readonly onError?: (error: unknown) => void
}

/** Runs activities of a task queue of a server. */
export interface ActivityRunner extends AsyncDisposable {
  /** The name of the worker. */
  readonly worker: string
  /** Resolves after `stop`. Rejects if the server refuses the worker, for example with `UNAUTHORIZED`. */
  readonly ended: Promise<void>
  /** Claims nothing more, lets running activities finish for at most `drain`, and then tells them to stop. Another worker gets those after their lease. */
  stop(): Promise<void>
}

/**
 * Runs activities in this process for a server that executes the workflows. It begins at once. Throws `BAD_OPTION` for a wrong option.
 *
 * @example
 * const reserving = defineActivity("reserve", (wanted: string) => reserve(wanted))
 * const runner = runActivities("http://127.0.0.1:8787", { queue: "warehouse", activities: [reserving] })
 * process.once("SIGTERM", () => runner.stop())
 * await runner.ended
 */
export function runActivities(url: string, options: ActivityRunnerOptions): ActivityRunner {
  return new RemoteActivityRunner(url, options)
}

class RemoteActivityRunner implements ActivityRunner {
  readonly worker: string
  readonly ended: Promise<void>
  readonly #transport: Transport
  readonly #tasks: TaskControl
  readonly #options: ActivityRunnerOptions
  readonly #activities: ReadonlyMap<string, AnyActivity>
  readonly #concurrentMax: number
  readonly #drainMs: number
  readonly #runs = new Map<ActivityRun, Promise<void>>()
  readonly #stopping = new AbortController()
  #onRoom: () => void = () => undefined

  constructor(url: string, options: ActivityRunnerOptions) {
    this.#options = options
    this.worker = options.worker ?? `worker-${randomId(8)}`
    this.#activities = new Map(options.activities.map((activity) => [activity.name, activity]))
    this.#concurrentMax = options.maxConcurrentActivities ?? 100
    if (!(this.#concurrentMax >= 1)) throw new PerdureError("BAD_OPTION", `maxConcurrentActivities is ${this.#concurrentMax}; give a number from 1 on`)
    this.#drainMs = durationMs(options.drain ?? "10s", "drain")
    this.#transport = new Transport(url, options, realPace)
    this.#tasks = new RemoteTasks(this.#transport)
    this.ended = this.#work()
    // A caller may look at `ended` later.
    this.ended.catch(() => undefined)
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new PerdureError("ENGINE_CLOSED", "the worker is stopping"))
    this.#onRoom()
    await this.ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #work(): Promise<void> {
    try {
      while (!this.#stopping.signal.aborted) for (const task of await this.#claim()) this.#run(task)
    } finally {
      await this.#finish()
    }
  }

  async #claim(): Promise<readonly ClaimedActivity[]> {
    const room = this.#concurrentMax - this.#runs.size
    if (room < 1) {
      await new Promise<void>((resolve) => (this.#onRoom = resolve))
      return []
    }
    const { signal } = this.#stopping
    const request = { worker: this.worker, activities: [...this.#activities.keys()], max: Math.min(room, claimMax), wait: waitMs, signal }
    try {
      return await this.#tasks.claim(this.#options.queue, request)
    } catch (error) {
      if (PerdureError.is(error) && final.has(error.code)) throw error
      this.#report(error)
      await sleep(realPace, retryMs, signal).catch(() => undefined)
      return []
    }
  }

  #run(task: ClaimedActivity): void {
    const activity = this.#activities.get(task.activity)
    if (activity === undefined) return
    const owner = { tasks: this.#tasks, pace: realPace, signal: this.#transport.signal, onError: (error: unknown) => this.#report(error) }
    const run = new ActivityRun(owner, task)
    const ended = run.run(activity).finally(() => {
      this.#runs.delete(run)
      this.#onRoom()
    })
    this.#runs.set(run, ended)
  }

  /** Lets the running activities finish, and then closes the connection. */
  async #finish(): Promise<void> {
    if (this.#runs.size > 0) {
      let cancel: () => void = () => undefined
      const late = new Promise<void>((resolve) => (cancel = realPace.after(this.#drainMs, resolve)))
      await Promise.race([late, Promise.all(this.#runs.values())])
      cancel()
    }
    for (const run of this.#runs.keys()) run.lose(new PerdureError("ENGINE_CLOSED", "the worker is closing"))
    this.#transport.close()
  }

  #report(error: unknown): void {
    if (!this.#transport.isClosed) this.#options.onError?.(error)
  }
}
