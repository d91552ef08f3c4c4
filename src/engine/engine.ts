import { PerdureError } from "../core/errors.ts"
import { redacted, shownError } from "../core/hidden.ts"
import type { AnyWorkflow, EventMap, Workflow } from "../core/workflow.ts"
import type { Hint, StoreRole } from "../ports/store.ts"
import type {
  BatchItem,
  BatchOptions,
  BatchResult,
  Changes,
  Client,
  ControlResult,
  ForkOptions,
  Handle,
  InstanceDescription,
  ListFilter,
  ListPage,
  RestartOptions,
  SendOrStartOptions,
  StartArguments,
  StartOptions,
  TerminateOptions,
  WorkflowInfo,
  Why,
} from "./client.ts"
import { notStarted } from "./batch-start.ts"
import { ChangeFeed } from "./change-feed.ts"
import { ChangeSequence } from "./change-reader.ts"
import { Answers } from "./answers.ts"
import { CodeAsker } from "./code-asker.ts"
import { codedStore } from "./coded-store.ts"
import { Controls } from "./controls.ts"
import type { EngineParts, EngineSpec } from "./engine-parts.ts"
import { Endings, engineClosed, resultOf } from "./endings.ts"
import { InstanceHandle } from "./handle.ts"
import { StoredLimits, type LimitControl } from "./limit-control.ts"
import { Lookout } from "./lookout.ts"
import { Outreach } from "./outreach.ts"
import { Reader } from "./reader.ts"
import { WorkflowRegistry } from "./registry.ts"
import { Scheduler } from "./scheduler.ts"
import { Schedules } from "./schedules.ts"
import { ScheduleWriter } from "./schedule-writer.ts"
import { engineSettings } from "./settings.ts"
import { Starter } from "./starter.ts"
import { onStoreClock } from "./store-clock.ts"
import { Ticks, type TickOptions, type TickResult } from "./ticks.ts"
import { Worker } from "./worker.ts"

const standByMs = 250

/** An engine on a store: a client of it, and a worker where the store lets it be one. */
export class Engine implements Client, AsyncDisposable {
  /** What the engine is made of, for its own handles and for tests. */
  readonly parts: EngineParts
  readonly schedules: Schedules = new Schedules(
    () => this,
    (id) => this.get(id),
  )
  #closing: Promise<void> | undefined
  #stopHints: () => void = () => undefined
  #stopRejections: () => void = () => undefined

  readonly limits: LimitControl

  readonly #ticks: Ticks
  readonly #lookout = new Lookout(() => this.parts)

  private constructor(parts: EngineParts, spec: EngineSpec) {
    this.parts = parts
    this.#ticks = new Ticks(spec, parts.store, (forTick) => Engine.open(forTick))
    this.limits = new StoredLimits(parts.store.flow, () => this.#check())
  }

  static async open(spec: EngineSpec): Promise<Engine> {
    const asked = engineSettings(spec.options, spec.budget)
    const registry = new WorkflowRegistry(spec.workflows, asked.limits, asked.queues)
    const role = spec.role ?? "worker"
    const opened = await spec.store.open({ now: () => spec.host.now(), log: spec.host.log, role })
    const host = onStoreClock(spec.host, opened)
    const settings = spec.options.sweep === undefined && opened.sweepMs !== undefined ? { ...asked, sweepMs: opened.sweepMs } : asked
    const store = settings.codecs ? codedStore(opened, settings.codecs) : opened
    // Timers are the worker's; endings need them, and the worker tells endings.
    const worker: Worker = new Worker(store, host, registry, settings, {
      onEnd: (id, entry) => {
        endings.tell(id, entry)
        answers.runOver(id)
        scheduler.ended(id)
      },
      onRunOver: (id) => answers.runOver(id),
      onAnswered: (answer) => answers.tell(answer),
      onSweep: () => void engine.#look(),
    })
    const { timers } = worker
    const recheck = { now: () => host.now(), timers, ours: worker, rarelyMs: opened.sweepMs === undefined ? undefined : settings.sweepMs }
    const endings = new Endings(store, host, recheck, worker)
    const answers = new Answers(store, host, recheck)
    const changes = new ChangeFeed(store.directory, host, recheck)
    worker.committer.onWritten = () => changes.signal()
    const starter = new Starter(store, registry, worker)
    const controls = new Controls(store, registry, worker)
    worker.outreach = new Outreach(starter, controls)
    const scheduleWriter = new ScheduleWriter(store, starter, worker)
    const scheduler = new Scheduler(store, host, worker.timers, registry, scheduleWriter)
    const parts = {
      host,
      store,
      settings,
      registry,
      worker,
      endings,
      answers,
      changes,
      reader: new Reader(store, settings.codecs),
      asker: new CodeAsker(store, registry, worker, answers),
      starter,
      controls,
      scheduleWriter,
      scheduler,
    }
    const engine = new Engine(parts, spec)
    await engine.#begin(role)
    return engine
  }

  /** `client`: another process executes; this one asks, and stands by. */
  get role(): StoreRole {
    return this.parts.worker.active ? "worker" : "client"
  }

  async #begin(wanted: StoreRole): Promise<void> {
    const { store, host, worker, settings } = this.parts
    this.#stopRejections = host.onUnhandledRejection((scope, reason) => {
      if (scope.engine !== worker) return
      host.log.error(
        `a promise of instance "${scope.instance}"${scope.step === undefined ? "" : `, step "${scope.step}",`} was rejected and nobody handled it`,
        { instance: scope.instance, error: scope.isSensitive === true ? redacted : shownError(reason) },
      )
    })
    this.#stopHints = store.onHint((hint) => void this.#look(hint))
    if (wanted === "client" || settings.execute === "ticks") return
    if (store.role === "worker") return this.#execute()
    host.log.warn("another process executes the workflows of this store; this one is a client and stands by")
    this.#standBy()
  }

  /** Does what is to be done now, in an engine that was opened with `execute: "ticks"`. */
  async tick(options: TickOptions = {}): Promise<TickResult> {
    this.#check()
    if (this.parts.settings.execute !== "ticks") throw new PerdureError("BAD_OPTION", 'this engine executes all the time; open it with execute: "ticks"')
    const result = await this.#ticks.tick(options)
    await this.#look()
    return result
  }

  async #execute(): Promise<void> {
    await this.parts.worker.start()
    if (!this.#closing) this.parts.scheduler.start()
  }

  /** Somebody else may have changed something. */
  async #look(hint?: Hint): Promise<void> {
    if (!this.#closing) await this.#lookout.look(hint)
  }

  #standBy(): void {
    const { store, host, worker } = this.parts
    worker.timers.set(host.now() + standByMs, () => {
      void (async () => {
        try {
          const role = this.#closing ? undefined : await store.standBy()
          // Also if it was closed while the store answered.
          if (this.#closing) return
          if (role !== "worker") return this.#standBy()
          host.log.info("this process executes the workflows of this store now")
          await this.#execute()
        } catch (error) {
          if (this.#closing) return
          host.log.error("standing by failed; trying again", { error })
          this.#standBy()
        }
      })()
    })
  }

  start<In, Out, Events, Sent>(workflow: Workflow<In, Out, Events, Sent>, ...options: StartArguments<NoInfer<In>>): Promise<Handle<Out, Sent>>
  start(workflow: string, options?: StartOptions<unknown>): Promise<Handle>
  async start(workflow: AnyWorkflow | string, options: StartOptions<unknown> = {}): Promise<Handle> {
    this.#check()
    return this.get(await this.parts.starter.start(workflow, options))
  }

  async startBatch(items: readonly BatchItem[], { transaction }: BatchOptions = {}): Promise<readonly BatchResult[]> {
    this.#check()
    if (transaction !== undefined) return this.parts.starter.startAll(items, transaction)
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

  async sendOrStart<In, Out, Events, Sent, K extends keyof Sent & string>(
    workflow: Workflow<In, Out, Events, Sent>,
    options: SendOrStartOptions<NoInfer<In>, Sent, K>,
  ): Promise<Handle<Out, Sent>>
  sendOrStart(workflow: string, options: SendOrStartOptions<unknown, EventMap, string>): Promise<Handle>
  async sendOrStart(workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>): Promise<Handle> {
    this.#check()
    const { id, event, payload, eventId, ...start } = options
    const { controls, starter, worker, registry } = this.parts
    const definition = typeof workflow === "string" ? registry.identify(workflow, start.version) : workflow
    const message = await controls.eventMessage(id, definition, event, payload, eventId === undefined ? {} : { eventId })
    await starter.sendOrStart(workflow, { ...(start as StartOptions<unknown>), id }, message)
    worker.announce(id, undefined)
    this.parts.changes.signal()
    return this.get(id)
  }

  get<In, Out, Events, Sent>(workflow: Workflow<In, Out, Events, Sent>, id: string): Handle<Out, Sent>
  get(id: string): Handle
  get(first: AnyWorkflow | string, second?: string): Handle {
    return new InstanceHandle(() => this, typeof first === "string" ? first : (second ?? ""))
  }

  /** The result of an instance, once it has one. */
  async result(id: string, timeoutMs: number | undefined, signal?: AbortSignal): Promise<unknown> {
    this.#check()
    const { host, worker, endings } = this.parts
    const scope = host.currentScope()
    const runner = worker.residency.get(id)
    const isOurs = runner !== undefined && !runner.state.ended
    // Its hooks may ask: by then it has one.
    if (isOurs && scope?.engine === worker && scope.instance === id) {
      throw selfCall(id, "waits for its own result, which can never come; return the value instead", scope.step)
    }
    return resultOf(id, await endings.wait(id, timeoutMs, isOurs, signal))
  }

  async workflows(): Promise<readonly WorkflowInfo[]> {
    this.#check()
    const { registry, reader } = this.parts
    return registry.names.length > 0 ? registry.infos : reader.workflows()
  }

  async list(filter: ListFilter = {}): Promise<ListPage> {
    this.#check()
    return this.parts.reader.list(filter)
  }

  async count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    this.#check()
    return this.parts.reader.count(filter, by)
  }

  async describe(id: string): Promise<InstanceDescription> {
    this.#check()
    return this.parts.reader.describe(id)
  }

  async why(id: string): Promise<Why> {
    this.#check()
    const { reader, registry, host, settings, worker } = this.parts
    const row = await reader.row(id)
    return reader.why(id, {
      now: host.now(),
      versions: registry.versions(row.workflow),
      queues: settings.queues,
      isWorker: this.role === "worker",
      cancelGraceMs: settings.cancelGraceMs,
      isInLine: (step) => worker.stepLine?.holds(id, step) === true,
      concurrentStepsMax: settings.concurrentStepsMax,
    })
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
    return this.get(await this.parts.controls.fork(id, options))
  }

  async query(id: string, name: string, ...args: readonly unknown[]): Promise<unknown> {
    this.#check()
    return this.parts.asker.query(id, name, args)
  }

  async update(id: string, name: string, ...args: readonly unknown[]): Promise<unknown> {
    this.#check()
    const { host, worker, asker } = this.parts
    const scope = host.currentScope()
    if (scope?.engine === worker && scope.instance === id) throw selfCall(id, "updates itself and waits for its own answer", scope.step)
    return asker.update(id, name, args)
  }

  async restart(id: string, options: RestartOptions = {}): Promise<ControlResult> {
    this.#check()
    return this.parts.controls.restart(id, options)
  }

  async delete(id: string): Promise<void> {
    this.#check()
    return this.parts.controls.delete(id)
  }

  changes(cursor?: string): Changes {
    return new ChangeSequence(() => this.parts.changes, cursor, undefined)
  }

  /** Lets running attempts finish, gives everything back in good order, and closes the store. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Drops everything without a word to the store, as the death of the process would; for tests. */
  kill(): void {
    this.#closing ??= Promise.resolve()
    this.#stopHints()
    this.#stopRejections()
    this.#ticks.kill()
    void this.parts.scheduler.stop()
    this.parts.worker.kill()
    this.parts.starter.close(engineClosed())
    this.parts.endings.close(engineClosed())
    this.parts.answers.close(engineClosed())
    this.parts.changes.close()
  }

  async #close(): Promise<void> {
    const { worker, endings, answers, store, scheduler, changes, starter } = this.parts
    this.#stopHints()
    starter.close()
    try {
      await this.#ticks.stop()
      await scheduler.stop()
      await worker.stop()
    } finally {
      endings.close(engineClosed())
      answers.close(engineClosed())
      changes.close()
      this.#stopRejections()
      await store.close()
    }
  }

  #check(): void {
    if (this.#closing) throw engineClosed()
  }
}

function selfCall(id: string, what: string, step: string | undefined): PerdureError {
  return new PerdureError("SELF_CALL", `instance "${id}" ${what}`, { details: { instance: id, step } })
}
