import { decodeValue } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import { notFound } from "../../engine/instances/instance-errors.ts"
import { engineClosed } from "../../engine/instances/result-waiters.ts"
import type { DeleteResult } from "../../client-api/client-api.ts"
import type { EngineCore } from "../../engine/engine-core.ts"
import type { WorkflowRegistry } from "../../engine/workflow-registry.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import type { Delivery } from "../../ports/directory.ts"
import type { IndexRemoval } from "../../ports/cloudflare/index-shard.ts"
import type { InstanceRow, JournalRow, NewMessage, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { Logger } from "../../ports/host.ts"
import type { SlotMember } from "../../ports/cloudflare/limit-key.ts"
import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { SlotRequests } from "../../ports/cloudflare/object-permits.ts"
import type { ObjectTables, OutgoingMessage } from "../../ports/cloudflare/object-tables.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { ObjectAlarm } from "./object-alarm.ts"
import { earliest } from "./alarm-time.ts"
import { answerOf, type InstanceMethod, type RpcMethods, rpcMethods } from "./instance-rpc-methods.ts"
import { openObjectCore } from "./object-engine.ts"
import { ObjectHost } from "./object-host.ts"
import { runAsCaller, type Caller } from "./caller-scope.ts"
import type { ObjectStorage } from "../platform/platform.ts"

const answerLengthMax = 4 * 1024 * 1024

export interface ObjectSpec {
  /** The object's, where the platform tells it. */
  readonly name?: string | undefined
  readonly storage: ObjectStorage
  readonly tables: ObjectTables
  readonly network: ObjectNetwork
  /** Sends messages to other objects. */
  readonly outbox: BackgroundSender
  /** Publishes the object's instance to the index. */
  readonly index: BackgroundSender & { tellDeletion(onDone: () => void): Promise<boolean> }
  readonly slots: Slots
  /** For clients, who have nothing but the binding. */
  readonly layout: unknown
  readonly workflows: WorkflowRegistry
  readonly options: EngineOptions
  readonly log: Logger
  readonly now?: () => number
  openStore(site: StoreHooks): StoreProvider
}

/** What the store of an object has to know of it. */
export interface StoreHooks {
  /** The id of the object's instance. */
  own(): string | undefined
  /** Before anything is written of an instance that may be the first. */
  onWriting(): void
  onWritten(): void
}

/** What asks for the slots of the object's instance, and what it has of them. */
export interface Slots {
  readonly backgroundSender: BackgroundSender
  readonly permits: Pick<SlotRequests, "holds" | "isEmpty">
}

/** Tells others what is written here, until they have heard of it. */
export interface BackgroundSender {
  readonly retryAt: number | undefined
  send(onDone: () => void, isRetry?: boolean): void
}

interface ObjectEngine {
  readonly core: EngineCore
  readonly answers: RpcMethods
}

/** One instance in one Durable Object: an engine that executes nothing else. */
export class InstanceObject {
  readonly #spec: ObjectSpec
  readonly #host: ObjectHost
  readonly #clock: ObjectAlarm
  #opening: Promise<ObjectEngine> | undefined
  #id: string | undefined
  /** Calls under way that may give the object an instance. */
  #startsUnderWay = 0

  constructor(spec: ObjectSpec) {
    const { storage, tables, log, now } = spec
    this.#spec = spec
    this.#host = new ObjectHost(storage, log, now)
    this.#clock = new ObjectAlarm(storage, tables, this.#host, () => earliest(spec.outbox.retryAt, spec.index.retryAt, spec.slots.backgroundSender.retryAt))
    // Newer code may want more of its tables than there is.
    if (tables.isThere()) tables.prepare()
  }

  get #tables(): ObjectTables {
    return this.#spec.tables
  }

  /** A method of the client. */
  ask(id: string, method: string, args: string, caller?: Caller): Promise<string> {
    return answerOf(() => {
      if (method === "layout") return this.#spec.layout
      if (method === "workflows") return this.#spec.workflows.infos
      return this.call(id, method as InstanceMethod, decodeValue(args) as readonly unknown[], caller)
    })
  }

  async call(id: string, method: InstanceMethod, args: readonly unknown[], caller?: Caller): Promise<unknown> {
    const isStart = method === "start" || method === "sendOrStart"
    if (isStart) this.#requireOwn(id)
    if (!this.#adopt(id, isStart)) throw notFound(id)
    if (isStart) this.#startsUnderWay++
    try {
      const { core, answers } = await this.#open()
      if (core.isClosing) throw engineClosed()
      const answer = answers[method] as ((id: string, ...args: unknown[]) => unknown) | undefined
      if (answer === undefined) throw new PerdureError("UNKNOWN_ROUTE", `an instance's object has no method ${JSON.stringify(method)}`)
      const incarnation = method === "delete" ? this.#tables.summary()?.incarnation : undefined
      const value = await runAsCaller(caller, { host: this.#host, engine: core.parts.worker, instance: id }, () => answer(id, ...args))
      return incarnation === undefined ? value : await this.#forgetInIndex({ id, incarnation })
    } finally {
      if (isStart) this.#startsUnderWay--
      if (isStart || method === "delete") await this.#leaveIfEmpty()
    }
  }

  /** The note and the alarm are written in the same breath as the deletion; the caller is answered when the index has forgotten the instance, too. */
  async #forgetInIndex(instance: IndexRemoval): Promise<DeleteResult> {
    this.#tables.removed(instance)
    const isForgotten = this.#spec.index.tellDeletion(() => this.#onSent())
    this.#afterWrite()
    return { stillListed: !(await isForgotten) }
  }

  /** For callers who have the object and need not name its instance. */
  async callOwn<T>(method: InstanceMethod, ...args: readonly unknown[]): Promise<T> {
    const id = this.#tables.isThere() ? this.#tables.summary()?.id : undefined
    if (id === undefined) throw notFound(this.#spec.name ?? "")
    return (await this.call(id, method, args)) as T
  }

  async get(id: string): Promise<InstanceRow | undefined> {
    if (!this.#adopt(id)) return undefined
    return (await this.#open()).core.parts.store.directory.get(id)
  }

  /** As many turns as fit into one answer. */
  async readJournal(id: string, from: number): Promise<readonly JournalRow[]> {
    if (!this.#adopt(id)) return []
    const rows = await (await this.#open()).core.parts.store.journal.readJournal(id, from)
    let length = 0
    const isOver = rows.findIndex((row) => {
      length += row.entries.length + (row.blobs ?? []).reduce((sum, blob) => sum + blob.length, 0)
      return length > answerLengthMax
    })
    return (isOver < 0 ? rows : rows.slice(0, isOver + 1)).map(plainRow)
  }

  /** An instance that another one starts. */
  async create(turn: Turn): Promise<TurnOutcome> {
    this.#requireOwn(turn.instance)
    if (!this.#adopt(turn.instance, true)) return "lost"
    this.#startsUnderWay++
    try {
      return await this.#create(turn)
    } finally {
      this.#startsUnderWay--
    }
  }

  async #create(turn: Turn): Promise<TurnOutcome> {
    const { store, worker } = (await this.#open()).core.parts
    // From here to the write nothing can come between.
    if (this.#tables.isRefused(turn.incarnation)) return "lost"
    const [outcome = "lost"] = await store.journal.commit([turn])
    const startAt = turn.state?.dueAt
    if (outcome === "committed") worker.announce(turn.instance, startAt === undefined || startAt <= this.#host.now() ? undefined : startAt)
    return outcome
  }

  async deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]> {
    const id = messages[0]?.instance ?? ""
    if (!this.#adopt(id)) return messages.map(() => "absent" as const)
    const { store, worker } = (await this.#open()).core.parts
    const deliveries = await store.directory.deliver(messages)
    worker.hint([id])
    return deliveries
  }

  /** What another object had to tell. */
  async take(from: string, messages: readonly OutgoingMessage[]): Promise<readonly Delivery[]> {
    this.#tables.prepare()
    const deliveries = this.#tables.take(from, messages)
    this.#afterWrite()
    const summary = this.#tables.summary()
    if (summary && deliveries.includes("delivered")) (await this.#open()).core.parts.worker.hint([summary.id])
    if (!summary) await this.#leaveIfEmpty()
    return deliveries
  }

  /** A limit has a slot for the instance, which asks for it. */
  async slotHint(): Promise<void> {
    if (!this.#tables.isThere() || this.#tables.summary() === undefined) return
    await this.#open()
    this.#spec.slots.backgroundSender.send(() => this.#onSent(), true)
  }

  async holdsSlot(member: SlotMember, key: string): Promise<boolean> {
    return this.#tables.isThere() && this.#spec.slots.permits.holds(member, key) === true
  }

  /** Never throws: an alarm that fails a few times is not set again. */
  async alarm(): Promise<void> {
    try {
      this.#clock.fired()
      if (!this.#tables.isThere()) return
      this.#tables.dropOld()
      const summary = this.#tables.summary()
      if (summary) {
        const { worker } = (await this.#open()).core.parts
        this.#host.fireAlarmTimers()
        worker.hint([summary.id])
      }
      this.#spec.outbox.send(() => this.#onSent(), true)
      this.#spec.index.send(() => this.#onSent(), true)
      this.#spec.slots.backgroundSender.send(() => this.#onSent(), true)
      await this.#leaveIfEmpty()
      this.#clock.update()
    } catch (error) {
      this.#host.log.error("an alarm failed; it is set again", { error })
      this.#clock.rearmSoon()
    }
  }

  /** False: the object has another instance, or none and `isStart` does not say that there will be one. */
  #adopt(id: string, isStart = false): boolean {
    const idOfStart = this.#startsUnderWay > 0 ? this.#id : undefined
    const born = this.#tables.isThere() ? this.#tables.summary()?.id : undefined
    this.#id = born ?? (isStart ? id : idOfStart)
    return this.#id === id
  }

  /**
   * In the same breath as the first turn, so that all of it is one write of the object. The alarm comes first: the platform makes a table for it,
   * and what was parsed before would have to be parsed again.
   */
  #prepare(): void {
    if (!this.#tables.isThere()) this.#clock.rearmSoon()
    this.#tables.prepare()
  }

  /** Nobody would find an instance that is not in the object of its name. */
  #requireOwn(id: string): void {
    const { name } = this.#spec
    if (name === undefined || name === id) return
    throw new PerdureError("BAD_ID", `the object of instance "${name}" cannot have an instance "${id}"; take the object by idFromName("${id}")`, {
      details: { id, object: name },
    })
  }

  #open(): Promise<ObjectEngine> {
    this.#id ??= this.#tables.summary()?.id
    this.#opening ??= this.#openEngine().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #openEngine(): Promise<ObjectEngine> {
    const { workflows, options } = this.#spec
    const store = this.#spec.openStore({ own: () => this.#id, onWriting: () => this.#prepare(), onWritten: () => this.#afterWrite() })
    const core = await openObjectCore({ host: this.#host, store, workflows, options })
    const answers = rpcMethods(core)
    await core.begin()
    return { core, answers }
  }

  /** In the same breath as the write, so that both are durable or neither is. */
  #afterWrite(): void {
    this.#spec.outbox.send(() => this.#onSent())
    this.#spec.index.send(() => this.#onSent())
    this.#spec.slots.backgroundSender.send(() => this.#onSent())
    this.#clock.update(this.#startsUnderWay > 0)
  }

  #onSent(): void {
    this.#clock.update()
    void this.#leaveIfEmpty().catch((error: unknown) => this.#host.log.error("an object could not be emptied", { error }))
  }

  /** An object without an instance, that has nothing to tell anybody, takes no room. */
  async #leaveIfEmpty(): Promise<void> {
    const tables = this.#tables
    if (this.#startsUnderWay > 0 || !tables.isThere() || tables.summary() !== undefined || tables.outgoing(1).length > 0 || tables.keptUntil() !== undefined)
      return
    // The index is told first: nobody else would know what is to be taken out of it.
    const { slots } = this.#spec
    if (!slots.permits.isEmpty()) return slots.backgroundSender.send(() => this.#onSent())
    if (tables.indexNews().removed.length > 0) return this.#spec.index.send(() => this.#onSent())
    const opening = this.#opening
    this.#opening = undefined
    this.#id = undefined
    tables.forget()
    const emptied = this.#spec.storage.deleteAll()
    this.#clock.update()
    const engine = await opening
    engine?.core.kill()
    await engine?.core.parts.store.close()
    await emptied
  }
}

/** What goes to another object is data only; that one has the codecs of values itself. */
function plainRow({ turn, position, count, run, at, entries, blobs }: JournalRow): JournalRow {
  return { turn, position, count, run, at, entries, blobs }
}
