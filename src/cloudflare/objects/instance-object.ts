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
import type { SlotRequests } from "../../ports/cloudflare/slot-requests.ts"
import type { ObjectTables, OutgoingMessage } from "../../ports/cloudflare/object-tables.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { ObjectAlarm } from "./object-alarm.ts"
import { earliest } from "./alarm-time.ts"
import { encodeAnswer, type InstanceMethod, type RpcMethods, rpcMethods } from "./instance-rpc-methods.ts"
import { openObjectCore } from "./object-engine.ts"
import { ObjectHost } from "./object-host.ts"
import { runAsCaller, type Caller } from "./caller-scope.ts"
import type { ObjectStorage } from "../platform/platform.ts"

const answerLengthMax = 4 * 1024 * 1024

export interface InstanceObjectOptions {
  /** The name of the object, if the platform tells it. */
  readonly name?: string | undefined
  readonly storage: ObjectStorage
  readonly tables: ObjectTables
  readonly network: ObjectNetwork
  /** Sends messages to other objects. */
  readonly outbox: BackgroundSender
  /** Publishes the object's instance to the index. */
  readonly index: BackgroundSender & { publishRemoval(onDone: () => void): Promise<boolean> }
  /** Requests and returns the slots of the object's instance. */
  readonly slotRequester: BackgroundSender
  readonly slotRequests: Pick<SlotRequests, "holds" | "isEmpty">
  /** The layout of the index shards, for clients: they know only the binding. */
  readonly layout: unknown
  readonly workflows: WorkflowRegistry
  readonly options: EngineOptions
  readonly log: Logger
  readonly now?: () => number
  openStore(site: StoreHooks): StoreProvider
}

/** The methods of an object that its store calls. */
export interface StoreHooks {
  /** The id of the object's instance. */
  readonly ownId: () => string | undefined
  /** Called before the first write of an instance that does not exist yet. */
  readonly beforeFirstWrite: () => void
  readonly afterWrite: () => void
}

/** Sends data of this object to other objects until they acknowledge it. */
export interface BackgroundSender {
  /** When the alarm has to call `send` again. Undefined: everything is acknowledged. */
  readonly retryAt: number | undefined
  /** Sends what is pending. `isRetry`: the alarm calls, so targets that failed are tried again. `onDone`: called when a target has everything, or has failed. */
  send(onDone: () => void, isRetry?: boolean): void
}

interface ObjectEngine {
  readonly core: EngineCore
  readonly methods: RpcMethods
}

/**
 * One instance in one Durable Object, with an engine that executes nothing else.
 *
 *   empty ──start, message──► prepared ──first turn──► has an instance ──delete──► has only pending data ──all acknowledged──► empty
 *                                 └──nothing was started, nothing is pending──► empty
 *
 * In the state `empty` the object's storage is deleted. Pending data is the outbox, slots to return, a removal that the index must hear of, and refusals.
 */
export class InstanceObject {
  readonly #options: InstanceObjectOptions
  readonly #host: ObjectHost
  readonly #alarm: ObjectAlarm
  #opening: Promise<ObjectEngine> | undefined
  #id: string | undefined
  /** How many calls that may create the object's instance are running. */
  #startsUnderWay = 0

  constructor(options: InstanceObjectOptions) {
    const { storage, tables, log, now } = options
    this.#options = options
    this.#host = new ObjectHost(storage, log, now)
    this.#alarm = new ObjectAlarm(storage, tables, this.#host, () => earliest(options.outbox.retryAt, options.index.retryAt, options.slotRequester.retryAt))
    // Newer code may need tables that an older version did not create.
    if (tables.isThere()) tables.prepare()
  }

  get #tables(): ObjectTables {
    return this.#options.tables
  }

  /** Calls a method of the client, and encodes its result. */
  ask(id: string, method: string, args: string, caller?: Caller): Promise<string> {
    return encodeAnswer(() => {
      if (method === "layout") return this.#options.layout
      if (method === "workflows") return this.#options.workflows.infos
      return this.call(id, method as InstanceMethod, decodeValue(args) as readonly unknown[], caller)
    })
  }

  async call(id: string, method: InstanceMethod, args: readonly unknown[], caller?: Caller): Promise<unknown> {
    const isStart = method === "start" || method === "sendOrStart"
    if (isStart) this.#requireOwnId(id)
    if (!this.#isOwnInstance(id, isStart)) throw notFound(id)
    if (isStart) this.#startsUnderWay++
    try {
      const { core, methods } = await this.#open()
      if (core.isClosing) throw engineClosed()
      if (!Object.hasOwn(methods, method)) throw new PerdureError("UNKNOWN_ROUTE", `the object of an instance has no method ${JSON.stringify(method)}`)
      const run = methods[method] as (id: string, ...args: readonly unknown[]) => unknown
      const incarnation = method === "delete" ? this.#tables.summary()?.incarnation : undefined
      const value = await runAsCaller(caller, { host: this.#host, engine: core.components.worker, instance: id }, () => run(id, ...args))
      return incarnation === undefined ? value : await this.#removeFromIndex({ id, incarnation })
    } finally {
      if (isStart) this.#startsUnderWay--
      if (isStart || method === "delete") await this.#deleteIfEmpty()
    }
  }

  /** Writes the pending removal and the alarm together with the deletion. Resolves when the index has removed the instance, or after a time limit. */
  async #removeFromIndex(instance: IndexRemoval): Promise<DeleteResult> {
    this.#tables.noteRemoval(instance)
    const isForgotten = this.#options.index.publishRemoval(() => this.#onSent())
    this.#afterWrite()
    return { stillListed: !(await isForgotten) }
  }

  /** Calls a method for the object's own instance, for callers that do not name it. */
  async callOwn<T>(method: InstanceMethod, ...args: readonly unknown[]): Promise<T> {
    const id = this.#tables.isThere() ? this.#tables.summary()?.id : undefined
    if (id === undefined) throw notFound(this.#options.name ?? "")
    return (await this.call(id, method, args)) as T
  }

  async get(id: string): Promise<InstanceRow | undefined> {
    if (!this.#isOwnInstance(id)) return undefined
    return (await this.#open()).core.components.store.directory.get(id)
  }

  /** Reads as many rows as fit into one RPC answer. */
  async readJournal(id: string, from: number): Promise<readonly JournalRow[]> {
    if (!this.#isOwnInstance(id)) return []
    const rows = await (await this.#open()).core.components.store.journal.readJournal(id, from)
    let length = 0
    const isOver = rows.findIndex((row) => {
      length += row.entries.length + (row.blobs ?? []).reduce((sum, blob) => sum + blob.length, 0)
      return length > answerLengthMax
    })
    return (isOver < 0 ? rows : rows.slice(0, isOver + 1)).map(plainRow)
  }

  /** Creates an instance for another instance or a schedule. */
  async create(turn: Turn): Promise<TurnOutcome> {
    this.#requireOwnId(turn.instance)
    if (!this.#isOwnInstance(turn.instance, true)) return "lost"
    this.#startsUnderWay++
    try {
      return await this.#create(turn)
    } finally {
      this.#startsUnderWay--
    }
  }

  async #create(turn: Turn): Promise<TurnOutcome> {
    const { store, worker } = (await this.#open()).core.components
    // No await lies between this check and the write.
    if (this.#tables.isRefused(turn.incarnation)) return "lost"
    const [outcome = "lost"] = await store.journal.commit([turn])
    const startAt = turn.state?.dueAt
    if (outcome === "committed") worker.announce(turn.instance, startAt === undefined || startAt <= this.#host.now() ? undefined : startAt)
    return outcome
  }

  async deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]> {
    const id = messages[0]?.instance ?? ""
    if (!this.#isOwnInstance(id)) return messages.map(() => "absent" as const)
    const { store, worker } = (await this.#open()).core.components
    const deliveries = await store.directory.deliver(messages)
    worker.hint([id])
    return deliveries
  }

  /** Receives messages from the outbox of another object. */
  async receive(from: string, messages: readonly OutgoingMessage[]): Promise<readonly Delivery[]> {
    this.#tables.prepare()
    const deliveries = this.#tables.receive(from, messages)
    this.#afterWrite()
    const summary = this.#tables.summary()
    if (summary && deliveries.includes("delivered")) (await this.#open()).core.components.worker.hint([summary.id])
    if (!summary) await this.#deleteIfEmpty()
    return deliveries
  }

  /** A limit key may have a slot for the instance. The instance asks for it again. */
  async slotHint(): Promise<void> {
    if (!this.#tables.isThere() || this.#tables.summary() === undefined) return
    await this.#open()
    this.#options.slotRequester.send(() => this.#onSent(), true)
  }

  async holdsSlot(member: SlotMember, key: string): Promise<boolean> {
    return this.#tables.isThere() && this.#options.slotRequests.holds(member, key)
  }

  /** Never throws: the platform gives up an alarm that has failed a few times. */
  async alarm(): Promise<void> {
    try {
      this.#alarm.fired()
      if (!this.#tables.isThere()) return
      this.#tables.dropExpired()
      const summary = this.#tables.summary()
      if (summary) {
        const { worker } = (await this.#open()).core.components
        this.#host.fireAlarmTimers()
        worker.hint([summary.id])
      }
      this.#options.outbox.send(() => this.#onSent(), true)
      this.#options.index.send(() => this.#onSent(), true)
      this.#options.slotRequester.send(() => this.#onSent(), true)
      await this.#deleteIfEmpty()
      this.#alarm.update()
    } catch (error) {
      this.#host.log.error("an alarm failed; it is set again", { error })
      this.#alarm.armWatchdog()
    }
  }

  /** Whether the id is that of the object's instance. `isStart`: an object without an instance takes the id as its own. */
  #isOwnInstance(id: string, isStart = false): boolean {
    const idOfStart = this.#startsUnderWay > 0 ? this.#id : undefined
    const writtenId = this.#tables.isThere() ? this.#tables.summary()?.id : undefined
    this.#id = writtenId ?? (isStart ? id : idOfStart)
    return this.#id === id
  }

  /**
   * Creates the tables and sets the alarm, in one synchronous write with the first turn. The alarm comes first: the platform creates a table for it,
   * after which SQLite would have to parse earlier statements again.
   */
  #prepare(): void {
    if (!this.#tables.isThere()) this.#alarm.armWatchdog()
    this.#tables.prepare()
  }

  /** Refuses an id other than the object's name: no client would find that instance. */
  #requireOwnId(id: string): void {
    const { name } = this.#options
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
    const { workflows, options } = this.#options
    const store = this.#options.openStore({ ownId: () => this.#id, beforeFirstWrite: () => this.#prepare(), afterWrite: () => this.#afterWrite() })
    const core = await openObjectCore({ host: this.#host, store, workflows, options })
    const methods = rpcMethods(core)
    await core.begin()
    return { core, methods }
  }

  /** Called synchronously after each write, so that the write and the alarm become durable together. */
  #afterWrite(): void {
    this.#options.outbox.send(() => this.#onSent())
    this.#options.index.send(() => this.#onSent())
    this.#options.slotRequester.send(() => this.#onSent())
    this.#alarm.update(this.#startsUnderWay > 0)
  }

  #onSent(): void {
    this.#alarm.update()
    void this.#deleteIfEmpty().catch((error: unknown) => this.#host.log.error("an object could not be emptied", { error }))
  }

  /** Deletes the storage of an object that has no instance and nothing pending. */
  async #deleteIfEmpty(): Promise<void> {
    const tables = this.#tables
    if (
      this.#startsUnderWay > 0 ||
      !tables.isThere() ||
      tables.summary() !== undefined ||
      tables.outgoing(1).length > 0 ||
      tables.refusalsExpireAt() !== undefined
    )
      return
    // Slots and the index come first: only this object knows what it has to return and to remove.
    const { slotRequests, slotRequester } = this.#options
    if (!slotRequests.isEmpty()) return slotRequester.send(() => this.#onSent())
    if (tables.indexBacklog().removed.length > 0) return this.#options.index.send(() => this.#onSent())
    const opening = this.#opening
    this.#opening = undefined
    this.#id = undefined
    tables.forget()
    const emptied = this.#options.storage.deleteAll()
    this.#alarm.update()
    const engine = await opening
    engine?.core.kill()
    await engine?.core.components.store.close()
    await emptied
  }
}

/** The row as plain data, which RPC can send. */
function plainRow({ turn, position, count, run, at, entries, blobs }: JournalRow): JournalRow {
  return { turn, position, count, run, at, entries, blobs }
}
