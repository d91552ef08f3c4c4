/** The caller that starts instances and sends to them. It calls any living process, and repeats a call whose outcome is unknown. */
import { PerdureError, type ControlResult } from "perdure"
import type { Engine } from "../../src/engine/engine.ts"
import { StoreFaultError } from "../../src/testing/faulty-store.ts"
import type { SimulatedProcess } from "../../src/testing/simulation/simulated-process.ts"
import { workflowNameOf, type Act, type OutsideAction, type SentEvent, type SimulatedInstance, type SimulatedSchedule } from "./program.ts"

export interface OutsideWorld {
  /** A process that seems to live; undefined if there is none. */
  pick(): SimulatedProcess | undefined
  pass(ms: number): Promise<void>
}

type Control = "pause" | "resume" | "cancel" | "terminate" | "restart"

const againMs = 500
const patienceMs = 20_000

type Answer<T> = { readonly is: "answered"; readonly value: T } | { readonly is: "refused"; readonly error: PerdureError } | { readonly is: "unknown" }

/** The requests to one instance, and their responses. */
export class InstanceLog {
  readonly tried = new Map<string, number>()
  readonly accepted = new Map<string, number>()
  readonly sent = new Map<string, Set<string>>()
  /** Whether a restart without a response may still take effect. */
  isRestartOpen = false
  lastSeizure: "terminate" | "restart" | undefined
  isStartAcknowledged = false
  /** The outcomes of `result()` calls. */
  readonly results: { readonly value?: unknown; readonly error?: string }[] = []
}

export type UpdateAnswer = { readonly value: unknown } | { readonly error: unknown }

/** Called as soon as the caller gets a response. */
export interface Listener {
  onUpdated(id: string, arg: string, answer: UpdateAnswer): void
  onQueried(id: string, answer: unknown): void
}

export class Outside {
  readonly logs = new Map<string, InstanceLog>()
  /** Actions that are not done yet. */
  pending = 0
  readonly #world: OutsideWorld
  readonly #listener: Listener

  constructor(world: OutsideWorld, listener: Listener) {
    this.#world = world
    this.#listener = listener
  }

  log(id: string): InstanceLog {
    const log = this.logs.get(id) ?? new InstanceLog()
    this.logs.set(id, log)
    return log
  }

  async start(instance: SimulatedInstance): Promise<void> {
    this.pending++
    const { id, delayMs, with: event, input } = instance
    const name = workflowNameOf(instance)
    const given = input ? { input } : {}
    const log = this.log(id)
    if (event) noteSent(log, event)
    await this.#world.pass(instance.startAtMs)
    await this.#untilKnown(async (engine) => {
      const definition = engine.components.registry.resolve(name, undefined)
      if (event) return engine.sendOrStart(definition, { ...given, id, event: event.type, payload: event.payload, eventId: event.eventId ?? `start-${id}` })
      return engine.start(name, { ...given, id, ifExists: "return", ...(delayMs === undefined ? {} : { delay: delayMs }) })
    })
    log.isStartAcknowledged = true
    void this.#awaitResult(id)
    this.pending--
  }

  async schedule(schedule: SimulatedSchedule, beganAt: number): Promise<void> {
    this.pending++
    const { id, createAtMs, everyMs, endAtMs, overlap } = schedule
    await this.#world.pass(createAtMs)
    const declared = { workflow: workflowNameOf(schedule), every: everyMs, endAt: beganAt + endAtMs, overlap }
    await this.#untilKnown((engine) => engine.schedules.create(id, { ...declared, ifExists: "update" }))
    this.pending--
  }

  /** Runs actions in the order of their times. Each action waits for the action before it. */
  async act(actions: readonly OutsideAction[]): Promise<void> {
    this.pending++
    let atMs = 0
    for (const action of actions) {
      await this.#world.pass(Math.max(0, action.atMs - atMs))
      atMs = Math.max(atMs, action.atMs)
      while (!this.log(action.instance).isStartAcknowledged) await this.#world.pass(againMs)
      await this.#do(action.instance, action.act)
    }
    this.pending--
  }

  #do(id: string, act: Act): Promise<void> {
    if (act.kind === "event") return this.send(id, act.event)
    if (act.kind === "update") return this.#update(id, act.arg)
    if (act.kind === "query") return this.#query(id)
    if (act.kind === "undo") return this.control(id, "undo", (engine) => engine.terminate(id, { rollback: true }))
    if (act.kind === "restartFrom") return this.control(id, "restart", (engine) => engine.restart(id, { from: act.step }))
    return this.control(id, act.kind)
  }

  /** Each repeated call is another update. */
  async #update(id: string, arg: string): Promise<void> {
    let tries = 0
    const asked = () => `${arg}.${++tries}`
    await this.#untilKnown(async (engine) => {
      const own = asked()
      const update = engine.update(id, "do", own)
      update.then(
        (value) => this.#listener.onUpdated(id, own, { value }),
        (error: unknown) => isAnswer(error) && this.#listener.onUpdated(id, own, { error }),
      )
      return update
    })
  }

  async #query(id: string): Promise<void> {
    const answer = await this.#once((engine) => engine.query(id, "seen"))
    if (answer.is === "answered") this.#listener.onQueried(id, answer.value)
    else if (answer.is === "refused" && answer.error.code !== "NOT_STARTED") this.#listener.onQueried(id, answer.error)
  }

  async send(id: string, event: SentEvent): Promise<void> {
    noteSent(this.log(id), event)
    const { type, payload, eventId } = event
    const ask = (engine: Engine) => engine.get(id).sendEvent(type, payload, eventId === undefined ? {} : { eventId })
    // An event without an id may be delivered twice if it is sent twice.
    if (eventId === undefined) await this.#once(ask)
    else await this.#untilKnown(ask)
  }

  async control(id: string, kind: Control | "undo", ask?: (engine: Engine) => Promise<ControlResult>): Promise<void> {
    const log = this.log(id)
    const before = log.tried.get(kind) ?? 0
    const answer = await this.#untilKnown((engine) => {
      log.tried.set(kind, (log.tried.get(kind) ?? 0) + 1)
      // Whatever the outcome of the restart, it may revoke an acknowledged terminate.
      if (kind === "restart") log.lastSeizure = undefined
      return ask ? ask(engine) : engine[kind as Control](id)
    })
    if (kind === "restart" && log.tried.get(kind) !== before + 1) log.isRestartOpen = true
    if (answer.is !== "answered" || !answer.value.accepted) return
    log.accepted.set(kind, (log.accepted.get(kind) ?? 0) + 1)
    if (kind === "terminate" || kind === "restart") log.lastSeizure = kind
  }

  async #awaitResult(id: string): Promise<void> {
    const process = this.#world.pick()
    if (!process?.engine) return
    try {
      this.log(id).results.push({ value: await process.engine.get(id).result() })
    } catch (error) {
      if (isAnswer(error)) this.log(id).results.push({ error: error instanceof Error ? error.message : String(error) })
    }
  }

  async #untilKnown<T>(ask: (engine: Engine) => Promise<T>): Promise<Answer<T>> {
    for (;;) {
      const answer = await this.#once(ask)
      if (answer.is !== "unknown") return answer
      await this.#world.pass(againMs)
    }
  }

  async #once<T>(ask: (engine: Engine) => Promise<T>): Promise<Answer<T>> {
    const process = this.#world.pick()
    if (!process?.engine) return { is: "unknown" }
    const asked = ask(process.engine).then(
      (value): Answer<T> => ({ is: "answered", value }),
      (error: unknown): Answer<T> => (isAnswer(error) ? { is: "refused", error: error as PerdureError } : { is: "unknown" }),
    )
    const unknown = () => ({ is: "unknown" }) as const
    return Promise.race([asked, process.died.then(unknown), this.#world.pass(patienceMs).then(unknown)])
  }
}

/** Whether the error tells the outcome of the request. Other errors leave it open. */
function isAnswer(error: unknown): boolean {
  if (PerdureError.is(error)) return error.code !== "ENGINE_CLOSED" && error.code !== "STORE_FAILED"
  return !(error instanceof StoreFaultError)
}

export function noteSent(log: InstanceLog, { type, payload }: SentEvent): void {
  const payloads = log.sent.get(type) ?? new Set()
  log.sent.set(type, payloads.add(payload))
}
