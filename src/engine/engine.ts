// Of what users compile with it: their target may not have AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import { checkArguments } from "../core/arguments/argument.ts"
import { clientArguments, engineArguments, otherClientArguments, startBetween } from "../core/arguments/client-arguments.ts"
import { PerdureError } from "../core/errors.ts"
import type { AnyWorkflow, EventMap } from "../core/workflow/workflow.ts"
import type { StoreRole } from "../ports/store.ts"
import type {
  BatchItem,
  BatchItemsOf,
  BatchOptions,
  BatchResult,
  Changes,
  Client,
  ControlResult,
  DeleteResult,
  ForkOptions,
  Handle,
  HandleOf,
  InstanceDescription,
  ListFilter,
  ListPage,
  RestartOptions,
  ResultOptions,
  SendOrStartOptions,
  SendOrStartOptionsOf,
  StartArgumentsOf,
  StartOptions,
  TerminateOptions,
  WorkflowInfo,
  Why,
} from "../client-api/client-api.ts"
import { UpdateWaiters } from "./instances/update-waiters.ts"
import { batchStarterOf, notStarted, startWithin } from "./instances/batch-start.ts"
import { ChangeFeed } from "./changes/change-feed.ts"
import { ChangeSequence } from "./changes/change-sequence.ts"
import { QueryUpdateClient } from "./instances/query-update-client.ts"
import type { EngineComponents, EngineSpec } from "./engine-components.ts"
import { InstanceHandle } from "./instances/instance-handle.ts"
import { refuseSelf, result, sendOrStart } from "./instances/instance-calls.ts"
import { countInstances, listInstances, listWorkflows } from "./instances/instance-list.ts"
import type { LimitControl } from "../client-api/limit-control.ts"
import { StoredLimits } from "./flow-control/stored-limits.ts"
import { InstanceReader } from "./instances/instance-reader.ts"
import { fallbackPollOptions } from "./worker/fallback-poll.ts"
import { Restarts } from "./instances/restarts.ts"
import { ScheduledStarts } from "./schedules/scheduled-starts.ts"
import { Scheduler } from "./schedules/scheduler.ts"
import { Schedules } from "./schedules/schedules.ts"
import { ScheduleWriter } from "./schedules/schedule-writer.ts"
import { SharedStoreCore } from "./shared-store-core.ts"
import { Ticks, type TickOptions, type TickResult } from "./ticks.ts"
import { readWhy } from "./diagnostics/why-reader.ts"

/** An engine on a store: a client of it, and a worker where the store lets it be one. */
export class Engine implements Client, AsyncDisposable {
  readonly core: SharedStoreCore
  /** What the engine is made of, for its own handles and for tests. */
  readonly parts: EngineComponents
  readonly schedules: Schedules = new Schedules(
    () => this,
    (id) => this.get(id),
  )
  readonly limits: LimitControl
  readonly #ticks: Ticks

  static {
    checkArguments(this.prototype, { ...clientArguments, ...engineArguments }, otherClientArguments)
  }

  private constructor(core: SharedStoreCore, spec: EngineSpec) {
    const { store, host, registry, worker, starter, settings } = core.parts
    this.core = core
    this.#ticks = core.attach(new Ticks(spec, store, worker, (forTick) => Engine.open(forTick)))
    const pollOptions = fallbackPollOptions(core.parts)
    const updateWaiters = core.attach(new UpdateWaiters(store, host, pollOptions))
    const changes = core.attach(new ChangeFeed(store.directory, host, pollOptions))
    const scheduleWriter = new ScheduleWriter(store, new ScheduledStarts(starter, registry, worker), worker)
    const scheduler = core.attach(new Scheduler(store, host, worker.timers, registry, scheduleWriter))
    const queryUpdateClient = new QueryUpdateClient(store, registry, worker, updateWaiters)
    const reader = new InstanceReader(store, settings.codecs)
    const restarts = new Restarts(store, registry, worker)
    this.parts = { ...core.parts, reader, restarts, updateWaiters, queryUpdateClient, changes, scheduleWriter, scheduler }
    this.limits = new StoredLimits(store.flow, () => this.#check())
  }

  static async open(spec: EngineSpec): Promise<Engine> {
    const engine = new Engine(await SharedStoreCore.open(spec), spec)
    await engine.core.begin(spec.role)
    return engine
  }

  /** `"worker"`: this engine executes. `"client"`: another process does, and this one asks; unless it was opened as a client, it stands by to take over. */
  get role(): StoreRole {
    return this.core.role
  }

  /**
   * Does what is due now, in an engine that was opened with `execute: "ticks"`, and resolves when nothing moves any more without time passing.
   * Throws `BAD_OPTION` in an engine that executes all the time.
   */
  async tick(options: TickOptions = {}): Promise<TickResult> {
    this.#check()
    if (this.parts.settings.execute !== "ticks") throw new PerdureError("BAD_OPTION", 'this engine executes all the time; open it with execute: "ticks"')
    const result = await this.#ticks.tick(options)
    const { storeGone } = this.core
    if (storeGone) throw storeGone
    await this.core.handleHint()
    return result
  }

  start<W extends AnyWorkflow | string>(workflow: W, ...options: StartArgumentsOf<W>): Promise<HandleOf<W>>
  async start(workflow: AnyWorkflow | string, options: StartOptions<unknown> = {}): Promise<Handle> {
    this.#check()
    return this.get(await this.parts.starter.start(workflow, options))
  }

  startBatch<const Ws extends readonly (AnyWorkflow | string)[]>(items: BatchItemsOf<Ws>, options?: BatchOptions): Promise<readonly BatchResult[]>
  async startBatch(items: readonly BatchItem[], { transaction }: BatchOptions = {}): Promise<readonly BatchResult[]> {
    this.#check()
    if (transaction !== undefined) return startBetween(items, (startable) => startWithin(startable, batchStarterOf(this.parts.starter, transaction)))
    return startBetween(items, (startable) => this.#startEach(startable))
  }

  #startEach(items: readonly BatchItem[]): Promise<readonly BatchResult[]> {
    const begun = new Map<string, Promise<BatchResult>>()
    return Promise.all(
      items.map((item) => {
        // An id that comes twice is the first one's.
        const before = item.id === undefined ? undefined : begun.get(item.id)
        const result = before ? before.then(() => this.#startItem(item)) : this.#startItem(item)
        if (item.id !== undefined) begun.set(item.id, result)
        return result
      }),
    )
  }

  async #startItem({ workflow, ...options }: BatchItem): Promise<BatchResult> {
    try {
      return { id: await this.parts.starter.start(workflow, options), created: true }
    } catch (error) {
      return { id: options.id ?? "", created: false, error: PerdureError.is(error) ? error : notStarted(error) }
    }
  }

  sendOrStart<W extends AnyWorkflow | string>(workflow: W, options: SendOrStartOptionsOf<W>): Promise<HandleOf<W>>
  async sendOrStart(workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>): Promise<Handle> {
    this.#check()
    await sendOrStart(this.core, workflow, options)
    return this.get(options.id)
  }

  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): HandleOf<W>
  get(first: AnyWorkflow | string, second?: string): Handle {
    return new InstanceHandle(() => this, typeof first === "string" ? first : (second ?? ""))
  }

  /** The result of an instance, once it has one, as `result` of its handle. */
  result(id: string, options?: ResultOptions): Promise<unknown> {
    const { refusal } = this.core
    return refusal ? Promise.reject(refusal) : result(this.core, id, options)
  }

  async workflows(): Promise<readonly WorkflowInfo[]> {
    this.#check()
    const { registry, store, settings } = this.parts
    return registry.names.length > 0 ? registry.infos : listWorkflows(store.directory, settings.codecs)
  }

  async list(filter: ListFilter = {}): Promise<ListPage> {
    this.#check()
    return listInstances(this.parts.store.directory, filter, this.parts.settings.codecs)
  }

  async count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    this.#check()
    return countInstances(this.parts.store.directory, filter, by)
  }

  async describe(id: string): Promise<InstanceDescription> {
    this.#check()
    return this.parts.reader.describe(id)
  }

  async why(id: string): Promise<Why> {
    this.#check()
    return readWhy(this.core, id)
  }

  async pause(id: string, reason?: string): Promise<ControlResult> {
    this.#check()
    return this.parts.controls.control(id, "pause", reason)
  }

  async resume(id: string): Promise<ControlResult> {
    this.#check()
    return this.parts.controls.control(id, "resume", undefined)
  }

  async cancel(id: string, reason?: string): Promise<ControlResult> {
    this.#check()
    return this.parts.controls.control(id, "cancel", reason)
  }

  async terminate(id: string, options: string | TerminateOptions = {}): Promise<ControlResult> {
    this.#check()
    return this.parts.controls.terminate(id, typeof options === "object" ? options : { reason: options })
  }

  async fork(id: string, options: ForkOptions): Promise<Handle> {
    this.#check()
    return this.get(await this.parts.restarts.fork(id, options))
  }

  async query(id: string, name: string, ...args: readonly unknown[]): Promise<unknown> {
    this.#check()
    return this.parts.queryUpdateClient.query(id, name, args)
  }

  async update(id: string, name: string, ...args: readonly unknown[]): Promise<unknown> {
    this.#check()
    refuseSelf(this.parts, id, "updates itself and waits for its own answer")
    return this.parts.queryUpdateClient.update(id, name, args)
  }

  async restart(id: string, options: RestartOptions = {}): Promise<ControlResult> {
    this.#check()
    return this.parts.restarts.restart(id, options)
  }

  async delete(id: string): Promise<DeleteResult> {
    this.#check()
    return this.parts.controls.delete(id)
  }

  changes(cursor?: string): Changes {
    return new ChangeSequence(() => this.parts.changes, cursor, undefined)
  }

  /** Lets running attempts finish for as long as `drain` says, gives everything back in good order, and closes the store. Later calls throw `ENGINE_CLOSED`. */
  close(): Promise<void> {
    return this.core.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Drops everything without a word to the store, as the death of the process would; for tests. */
  kill(): void {
    this.#ticks.kill()
    this.core.kill()
  }

  #check(): void {
    const { refusal } = this.core
    if (refusal) throw refusal
  }
}
