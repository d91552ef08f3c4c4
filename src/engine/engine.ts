// Users compile this file's types, and their target may not have AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import { CheckedClient } from "../client-api/checked-client.ts"
import { CheckedSchedules } from "../client-api/checked-schedules.ts"
import type { ResultOptions } from "../client-api/client-api.ts"
import type { LimitControl } from "../client-api/limit-control.ts"
import type { ScheduleClient } from "../client-api/schedule-client.ts"
import type { TaskControl } from "../client-api/task-control.ts"
import { checkArguments } from "../core/arguments/argument.ts"
import { engineArguments } from "../core/arguments/client-arguments.ts"
import { PerdureError } from "../core/errors.ts"
import type { StoreRole } from "../ports/store.ts"
import { ChangeFeed } from "./changes/change-feed.ts"
import { EngineCalls } from "./engine-calls.ts"
import type { EngineComponents, EngineSpec } from "./engine-components.ts"
import { StoredLimits } from "./flow-control/stored-limits.ts"
import { InstanceReader } from "./instances/instance-reader.ts"
import { QueryUpdateClient } from "./instances/query-update-client.ts"
import { Restarts } from "./instances/restarts.ts"
import { UpdateWaiters } from "./instances/update-waiters.ts"
import { ScheduledStarts } from "./schedules/scheduled-starts.ts"
import { Scheduler } from "./schedules/scheduler.ts"
import { ScheduleWriter } from "./schedules/schedule-writer.ts"
import { StoredSchedules } from "./schedules/stored-schedules.ts"
import { SharedStoreCore } from "./shared-store-core.ts"
import { StoredTasks } from "./tasks/stored-tasks.ts"
import { TaskExpiry } from "./tasks/task-expiry.ts"
import { TaskWorker } from "./tasks/task-worker.ts"
import { Ticks, type TickOptions, type TickResult } from "./ticks.ts"
import { fallbackPollOptions } from "./worker/fallback-poll.ts"

/** An engine on a store: always a client, and also a worker if the store allows it. */
export class Engine extends CheckedClient implements AsyncDisposable {
  readonly core: SharedStoreCore
  /** The components of the engine, for this package and its tests. */
  readonly components: EngineComponents
  /** The calls behind the methods of a client, for handles of this package. */
  readonly calls: EngineCalls
  readonly schedules: ScheduleClient
  readonly limits: LimitControl
  readonly tasks: TaskControl
  readonly #ticks: Ticks
  readonly #taskWorker: TaskWorker | undefined

  static {
    checkArguments(this.prototype, engineArguments)
  }

  private constructor(core: SharedStoreCore, spec: EngineSpec) {
    const { store, host, registry, worker, starter, settings } = core.components
    const ticks = core.attach(new Ticks(spec, core.components, (forTick) => Engine.open(forTick)))
    const pollOptions = fallbackPollOptions(core.components)
    const updateWaiters = core.attach(new UpdateWaiters(store, host, pollOptions))
    const changes = core.attach(new ChangeFeed(store.directory, host, pollOptions))
    const scheduleWriter = new ScheduleWriter(store, new ScheduledStarts(starter, registry, worker), worker)
    const scheduler = core.attach(new Scheduler(store, host, worker.timers, registry, scheduleWriter))
    const { tasks } = store
    const hasTasks = tasks !== undefined && settings.execute === "always"
    const taskWorker = hasTasks && settings.activities.length > 0 ? core.attach(new TaskWorker(tasks, worker)) : undefined
    const taskExpiry = hasTasks ? core.attach(new TaskExpiry(tasks, worker)) : undefined
    const storedTasks = core.attach(new StoredTasks(tasks, worker, () => core.requireOpen()))
    worker.onTasksTakenOver = () => taskExpiry?.look()
    worker.onTasksWritten = (written) => {
      storedTasks.onTasks()
      taskWorker?.requestClaim()
      taskExpiry?.onTasksWritten(written)
    }
    const queryUpdateClient = new QueryUpdateClient(store, registry, worker, updateWaiters)
    const reader = new InstanceReader(store, settings.codecs)
    const restarts = new Restarts(store, registry, worker)
    const components = { ...core.components, reader, restarts, updateWaiters, queryUpdateClient, changes, scheduleWriter, scheduler, taskWorker }
    const calls = new EngineCalls(core, components)
    super(calls)
    this.core = core
    this.components = components
    this.calls = calls
    this.#ticks = ticks
    this.#taskWorker = taskWorker
    const storedSchedules = new StoredSchedules(components)
    this.schedules = new CheckedSchedules(
      () => storedSchedules,
      (id) => this.get(id),
    )
    this.limits = new StoredLimits(store.flow, () => core.requireOpen())
    this.tasks = storedTasks
  }

  static async open(spec: EngineSpec): Promise<Engine> {
    const engine = new Engine(await SharedStoreCore.open(spec), spec)
    await engine.core.begin(spec.role)
    await engine.#taskWorker?.begin()
    return engine
  }

  /** `"worker"`: this engine executes. `"client"`: another process executes. Unless it was opened as a client, the engine stands by to take over. */
  get role(): StoreRole {
    return this.core.role
  }

  /**
   * Executes what is due now, in an engine that was opened with `execute: "ticks"`. Resolves when nothing more happens without time passing.
   * Throws `BAD_OPTION` in an engine that executes all the time.
   */
  async tick(options: TickOptions = {}): Promise<TickResult> {
    this.core.requireOpen()
    if (this.components.settings.execute !== "ticks")
      throw new PerdureError("BAD_OPTION", 'this engine executes all the time; to use tick(), open it with execute: "ticks"')
    const result = await this.#ticks.tick(options)
    const { storeGone } = this.core
    if (storeGone) throw storeGone
    await this.core.handleHint()
    return result
  }

  /** Returns the result of an instance once it has ended, like `result` of its handle. */
  result(id: string, options: ResultOptions = {}): Promise<unknown> {
    return this.calls.result(id, options)
  }

  /** Lets running attempts finish, for at most `drain`, then releases all instances and closes the store. Later calls throw `ENGINE_CLOSED`. */
  close(): Promise<void> {
    return this.core.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** For tests: drops everything without writing to the store, as the death of the process would. */
  kill(): void {
    this.#ticks.kill()
    this.#taskWorker?.kill()
    this.core.kill()
  }
}
