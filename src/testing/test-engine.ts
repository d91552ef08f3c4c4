// The declaration file must name this library: the compile target of a user may lack AsyncDisposable.
/// <reference lib="esnext.disposable" preserve="true" />

import type { StepReference } from "../core/workflow/declared-handlers.ts"
import { durationMs, type Duration } from "../core/time/duration.ts"
import { PerdureError } from "../core/errors.ts"
import { isTerminal } from "../core/journal/status.ts"
import type { AnyWorkflow, EventMap, HandlersOf } from "../core/workflow/workflow.ts"
import type { WorkflowSource } from "../core/workflow/workflow-source.ts"
import { Engine } from "../engine/engine.ts"
import type { Client, EventArguments, Handle, SendOrStartOptions, StartOptions } from "../client-api/client-api.ts"
import { CheckedSchedules } from "../client-api/checked-schedules.ts"
import type { ScheduleClient } from "../client-api/schedule-client.ts"
import { StoredSchedules } from "../engine/schedules/stored-schedules.ts"
import { replay, type JournalExport, type Replayed } from "../engine/diagnostics/read-only-replay.ts"
import { payloadCodecs } from "../engine/payload-codec-store.ts"
import type { EngineOptions } from "../engine/settings.ts"
import { macrotask, SimulatedHost } from "../hosts/simulated/simulated-host.ts"
import type { Logger } from "../ports/host.ts"
import type { StoreProvider } from "../ports/store.ts"
import { memory } from "../stores/memory/memory-provider.ts"
import { AwaitedResults } from "./awaited-results.ts"
import { KeptStore } from "./kept-store.ts"
import { StoreCalls } from "./store-calls.ts"
import { type PassingTimers, PassingTimersTable, type PassOptions } from "./passing-timers.ts"
import { type MockOptions, StepMocks, type Mock } from "./step-mocks.ts"
import { untilHolds } from "./skip-until.ts"
import { TestHandle } from "./test-handle.ts"

/** Options of `createTestEngine`: the workflows, and the options of an engine. */
export interface TestEngineOptions extends EngineOptions {
  /** The workflows that the engine executes. */
  readonly workflows: readonly WorkflowSource[]
  /** The store of the instances. Default: memory. Use `sqlite(":memory:")` for workflows with transactions. */
  readonly store?: StoreProvider
  /** The virtual time when the engine opens. Default: the beginning of 2026, in UTC. */
  readonly startAt?: Date | number
  /** The seed of random numbers: equal seeds give equal ids and numbers. Default: a fixed seed. */
  readonly seed?: string
  /** The logger of the engine. Default: nothing is logged. */
  readonly log?: Logger
}

/** Opens a test engine with its internal interface; public-test-engine.ts narrows it to the public one. */
export async function createTestEngine(options: TestEngineOptions): Promise<TestEngine> {
  const { startAt, seed, log } = options
  const host = new SimulatedHost({
    ...(startAt === undefined ? undefined : { startAt: typeof startAt === "number" ? startAt : startAt.getTime() }),
    ...(seed === undefined ? undefined : { seed }),
    ...(log === undefined ? undefined : { log }),
  })
  const engine = new TestEngine(host, options)
  await engine.open()
  return engine
}

const quietMacrotasks = 3
/** The real time that `settle` waits for an answer of a store before it checks again. */
const unhurriedMs = 5
/** A number of macrotasks: about one second. */
const unansweredMax = 100_000

/** An engine in virtual time. Time stands still until the test moves it. */
export class TestEngine implements AsyncDisposable {
  /** The host with virtual time and seeded randomness. */
  readonly host: SimulatedHost
  readonly #options: TestEngineOptions
  /** The same store for other users of it, such as a client in another process: `settle` waits for their calls too. */
  readonly sharedStore: StoreProvider
  readonly #store: StoreProvider
  /** Keeps a store open that would lose everything in a crash. */
  readonly #kept: KeptStore | undefined
  readonly #mocks = new StepMocks()
  readonly #passing = new PassingTimersTable()
  readonly #calls = new StoreCalls()
  readonly #callsOfOthers = new StoreCalls()
  /** Other users have opened the store: their calls may be what an instance waits for. */
  #isShared = false
  readonly #results = new AwaitedResults(
    () => this.#isAtRest,
    (id) => this.#unending(id),
  )
  /** Schedules, which fire in virtual time. The client and its handles outlive crashes. */
  readonly schedules: ScheduleClient = new CheckedSchedules(
    () => new StoredSchedules(this.current.components),
    (id) => this.#handle(id),
  )
  #workflows: readonly WorkflowSource[]
  #engine: Engine | undefined
  #crashing: Promise<void> | undefined

  constructor(host: SimulatedHost, options: TestEngineOptions) {
    this.host = host
    this.#options = options
    const given = options.store ?? memory()
    this.#kept = given.isVolatile === true ? new KeptStore(given) : undefined
    const store = this.#kept ?? given
    this.#store = this.#calls.watch(store)
    const others = this.#callsOfOthers.watch(store)
    this.sharedStore = {
      ...others,
      open: (context) => {
        this.#isShared = true
        return others.open(context)
      },
    }
    this.#workflows = options.workflows
  }

  /** The current engine: a new one after each crash. */
  get current(): Engine {
    if (!this.#engine) throw new PerdureError("ENGINE_CLOSED", "the test engine is closed; create another")
    return this.#engine
  }

  /** Opens the engine. `createTestEngine` calls this method. */
  async open(): Promise<void> {
    const { workflows: _, store: __, ...rest } = this.#options
    this.#engine = await Engine.open({
      host: this.host,
      store: this.#store,
      workflows: this.#workflows,
      dueTimes: this.#passing.dueTimes(() => this.host.now()),
      options: { lease: "52w", sweep: "52w", ...rest, interceptors: [(step, next) => this.#mocks.intercept(step, next), ...(rest.interceptors ?? [])] },
    })
  }

  /** Starts an instance, like `start` of a client. The handle outlives crashes. */
  get start(): Client["start"] {
    return (async (workflow: AnyWorkflow | string, options?: StartOptions<unknown>) =>
      this.#handle((await this.current.start(workflow as string, options)).id)) as Client["start"]
  }

  /** Sends an event to an instance, and starts the instance first if it does not exist. The handle outlives crashes. */
  get sendOrStart(): Client["sendOrStart"] {
    return (async (workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>) =>
      this.#handle((await this.current.sendOrStart(workflow as string, options)).id)) as Client["sendOrStart"]
  }

  /** Returns a handle of an instance without a request. The handle outlives crashes. */
  get get(): Client["get"] {
    return ((first: AnyWorkflow | string, second?: string) => this.#handle(typeof first === "string" ? first : (second ?? ""))) as Client["get"]
  }

  /** Starts many instances, like `startBatch` of a client. */
  get startBatch(): Client["startBatch"] {
    return (items, options) => this.current.startBatch(items, options)
  }

  /** Returns a page of instances, like `list` of a client. */
  get list(): Client["list"] {
    return (filter) => this.current.list(filter)
  }

  /** Counts instances by status or by workflow. */
  get count(): Client["count"] {
    return (filter, by) => this.current.count(filter, by)
  }

  /** Iterates over the changes of instances, like `changes` of a client. A crash ends the iteration; begin another one at its cursor. */
  get changes(): Client["changes"] {
    return (cursor) => this.current.changes(cursor)
  }

  /** Changes the limits of workflows while they run. */
  get limits(): Client["limits"] {
    return this.current.limits
  }

  /** Sends an event and lets its effects happen. The compiler checks the type of the event if you give a typed handle, and does not if you give an id. */
  async sendEvent<Out, Sent = EventMap, Handlers = unknown, Type extends keyof Sent & string = keyof Sent & string>(
    to: Handle<Out, Sent, Handlers> | string,
    type: Type,
    ...payload: EventArguments<Sent[Type]>
  ): Promise<void> {
    await this.#results.during(async () => {
      await this.#handle(typeof to === "string" ? to : to.id).sendEvent(type, ...payload)
      await this.settle()
    })
  }

  /** The virtual time, in milliseconds since 1970. */
  now(): number {
    return this.host.now()
  }

  /** Moves time forward by this duration. Timers fire in order, and their effects happen before the next timer fires. */
  async skip(duration: Duration): Promise<void> {
    const ms = durationMs(duration, "skip")
    await this.#results.during(() => this.host.advanceTo(this.host.now() + ms, () => this.settle()))
  }

  /** Moves time forward from timer to timer until the instance ends. Throws `STALLED` if no timer is left and the instance has not ended. */
  skipToEnd(id: string, timersMax = 100_000): Promise<void> {
    return this.#results.during(() => this.#skipToEnd(id, timersMax))
  }

  async #skipToEnd(id: string, timersMax: number): Promise<void> {
    for (let fired = 0; fired < timersMax; fired++) {
      await this.settle()
      const row = await this.current.components.reader.row(id)
      if (row.endPosition !== undefined) return
      const at = this.host.nextTimerAt()
      if (at === undefined || row.status === "paused" || row.status === "stalled") break
      await this.host.advanceTo(at, () => this.settle())
    }
    const why = await this.current.why(id)
    throw new PerdureError("STALLED", `instance "${id}" does not end when only time passes: ${why.because.join("; ")}`)
  }

  /**
   * Moves time from timer to timer until the condition holds. Steps that run keep time from moving for up to a second of real time. Throws `NOTHING_MOVES`
   * if the condition does not hold after twenty years.
   */
  skipUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
    return this.#results.during(() =>
      untilHolds(condition, {
        settle: () => this.#settle(),
        isAtRest: () => this.#isAtRest,
        now: () => this.host.now(),
        moveTime: async () => {
          const at = this.host.nextTimerAt()
          if (at !== undefined) await this.host.advanceTo(at, () => this.#settle())
          return at !== undefined
        },
      }),
    )
  }

  /** Waits until the engine is idle: only time or an outside call can change something. */
  settle(): Promise<void> {
    return this.#results.during(() => this.#settle())
  }

  async #settle(): Promise<void> {
    for (let quiet = 0; quiet < quietMacrotasks;) {
      await new Promise<void>((resolve) => macrotask(resolve))
      const isAsking = !this.#calls.idle
      // The engine may die meanwhile: then its calls are forgotten, and this wait ends with the timeout.
      if (isAsking) await Promise.race([this.#calls.whenIdle(), new Promise((resolve) => setTimeout(resolve, unhurriedMs))])
      // The engine has not reacted yet to an answer that has just arrived.
      const isAnswered = isAsking && this.#calls.idle
      quiet = this.#isIdle && !isAnswered ? quiet + 1 : 0
    }
  }

  get #isIdle(): boolean {
    if (!this.#callsOfOthers.idle) return false
    if (!this.#engine) return this.#calls.idle
    const { worker, scheduler, changes } = this.#engine.components
    // The calls of a dead engine do not count.
    return worker.idle && scheduler.idle && (!worker.active || (this.#calls.idle && changes.idle))
  }

  /** The engine is idle, no step runs, and no workflow code awaits a promise of its own: only time or an outside call can change something. */
  get #isAtRest(): boolean {
    if (!this.#engine || this.#isShared || !this.#isIdle) return false
    const nextAt = this.host.nextTimerAt()
    if (nextAt !== undefined && nextAt <= this.host.now()) return false
    const { openGraces: graces, residents, activities } = this.#engine.components.worker
    return graces === 0 && activities.running === 0 && [...residents.values()].every((runner) => runner.attempts === 0)
  }

  /** The error for a caller who awaits the result of an instance while the engine is at rest. */
  async #unending(id: string): Promise<PerdureError | undefined> {
    const { status, because } = await this.current.why(id)
    if (isTerminal(status)) return undefined
    return new PerdureError(
      "NOTHING_MOVES",
      `instance "${id}" has no result, and nothing moves in the test engine: ${because.join("; ")}. Before you await result(), move time with skip("7d") or skipToEnd("${id}"), or do what the instance waits for`,
      { details: { instance: id, status } },
    )
  }

  /**
   * Replaces the function of a step: with a value, an error to throw, or another function. The newest replacement wins. `close` throws `UNKNOWN_STEP` if
   * instances of the workflow ran and none of them asked for the step. Dispose of the answer to remove the replacement.
   */
  mockStep<W extends AnyWorkflow | string>(
    workflow: W,
    step: W extends AnyWorkflow ? StepReference<HandlersOf<W>> : string,
    mock: Mock,
    options: MockOptions = {},
  ): Disposable {
    return this.#mocks.add(nameOf(workflow), step, mock, options)
  }

  /**
   * Lets sleeps end, steps try again, or waits time out as soon as they begin, without moving time. It applies to what begins from now on. Dispose of the
   * answer to end this.
   */
  passAtOnce(workflow: AnyWorkflow | string, what: PassingTimers, options: PassOptions = {}): Disposable {
    return this.#passing.add(nameOf(workflow), what, options)
  }

  /** Drops everything in memory, like the death of a process, and opens the engine again. Give other workflows to simulate a deploy. */
  async crash(options: { readonly workflows?: readonly WorkflowSource[] } = {}): Promise<void> {
    this.#crashing ??= this.#results
      .during(() => this.#crash(options))
      .finally(() => {
        this.#crashing = undefined
      })
    return this.#crashing
  }

  async #crash(options: { readonly workflows?: readonly WorkflowSource[] }): Promise<void> {
    const { worker, store } = this.current.components
    const wasClaiming = worker.isClaiming
    this.current.kill()
    this.#calls.forget()
    await store.journal.renew(worker.workerName, 0)
    await store.close()
    this.#workflows = options.workflows ?? this.#workflows
    await this.open()
    if (wasClaiming) {
      // A claim that was on its way to the store may have arrived after the first call ended the lease.
      await this.current.components.store.journal.renew(worker.workerName, 0)
      await this.current.components.worker.refresh()
    }
    await this.settle()
  }

  /** Evicts an instance from memory. The engine loads the instance again when something happens to it. */
  async evict(id: string): Promise<void> {
    await this.settle()
    const runner = this.current.components.worker.residents.get(id)
    if (runner) this.current.components.worker.onIdle(runner)
    await this.settle()
  }

  /** Returns the whole journal of an instance, for `expectReplay`. */
  async journal(id: string): Promise<JournalExport> {
    const { store, reader } = this.current.components
    const { incarnation, workflow, version, createdAt, tags } = await reader.row(id)
    return { instance: { id, incarnation, workflow, version, createdAt, tags }, rows: await store.journal.readJournal(id, 1) }
  }

  /** Closes the engine and its store. Throws `UNKNOWN_STEP` if no instance asked for a replaced step, unless the replacement is `optional`. */
  async close(): Promise<void> {
    const engine = this.#engine
    this.#engine = undefined
    if (!engine) return
    let closed = false
    const closing = engine.close().finally(() => {
      closed = true
    })
    // Closing waits for running attempts; in virtual time this loop must move time to end that wait.
    for (let quiet = 0, waited = 0; !closed; waited++) {
      await new Promise<void>((resolve) => macrotask(resolve))
      quiet = this.#calls.idle ? quiet + 1 : 0
      const at = this.host.nextTimerAt()
      // A store that never answers must not keep the engine open.
      const mayPass = quiet >= quietMacrotasks || waited > unansweredMax
      if (!closed && mayPass && at !== undefined) await this.host.advanceTo(at, () => Promise.resolve())
    }
    await closing
    await this.#kept?.close()
    this.#mocks.requireKnown()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #handle(id: string): Handle {
    return new TestHandle(
      () => this.current,
      () => this.#crashing,
      this.#results,
      id,
    )
  }
}

function nameOf(workflow: AnyWorkflow | string): string {
  return typeof workflow === "string" ? workflow : workflow.name
}

/** Replays a recorded journal against workflow code. Throws if the two disagree, and names both sides. Runs no step. */
export async function expectReplay(
  journal: JournalExport,
  workflow: AnyWorkflow,
  options: Pick<EngineOptions, "codec" | "retiredCodecs"> = {},
): Promise<Replayed> {
  return replay(workflow, journal, macrotask, payloadCodecs(options))
}
