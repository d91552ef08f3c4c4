import { createHash } from "node:crypto"
import { isTerminal } from "../../../core/journal/status.ts"
import type { Message, NewMessage, Turn } from "../../../ports/journal-store.ts"
import type { Hint } from "../../../ports/store.ts"
import type { Logger } from "../../../ports/host.ts"
import { everyKind, NotificationKind } from "./notification-kind.ts"
import { fromPayload, idsOf, isPushed, messagePayloads, toHint, toPayload } from "./notification-payload.ts"
import { Coalescer } from "./coalescer.ts"
import { ListenConnection, type NotifyingClient } from "./listen-connection.ts"
import { fromPushedPayload, PushedMessages, toPushedPayload } from "./pushed-messages.ts"
import { AdaptivePoll } from "./adaptive-poll.ts"
import type { PostgresPool } from "../connection/pg.ts"
import type { Notification, PushNotification } from "../turns/instance-queries.ts"

/** How long the other processes send `changed` after a process has said that it follows. A process that follows says so three times within this time. */
const followedMs = 90_000
/** How long it may take until the other processes know that this process follows. */
const followDelayMs = 100
const resendMs = 250
const reconnectMsMin = 100
const reconnectMsMax = 5_000
/** The shortest time between two notifications that are part of a delivering transaction. */
const transactionalGapMs = 20
/** How long a notification of this process to itself may take. */
const selfTestMs = 5_000

/** What the text of a turn contains if it answers an update (docs/journal-format.md). A text that only looks like it costs one look. */
const answersUpdate = /\{"type":"(?:update\.completed|update\.failed|run\.started)"/

const { work, message: messageKind, ended, admitted: admittedKind, updateAnswered, changed, followed, tasks: newTasks, selfTest } = NotificationKind

/**
 * Tells the other processes what has changed, and listens for what they tell. A notification is sent after a commit and not in its transaction: there it
 * would take a lock on the whole database. Many notifications become one. They are hints: the next sweep makes up for a lost one. While this process
 * receives nothing, it polls.
 */
export class Notifier {
  readonly pushedMessages = new PushedMessages()
  readonly #pool: PostgresPool
  readonly #listenPool: PostgresPool | undefined
  readonly #channel: string
  readonly #schema: string
  #pushChannel: string | undefined
  readonly #name = Math.random().toString(36).slice(2)
  readonly #log: Logger
  readonly #listeners = new Set<(hint: Hint) => void>()
  readonly #pushListeners = new Set<(message: Message) => boolean>()
  readonly #outgoing = new Coalescer((flags) => this.#send(flags))
  readonly #poll = new AdaptivePoll(() => this.notifySelf())
  readonly #incoming = new Coalescer(async (flags) => this.#receive(flags))
  #listenConnection: ListenConnection | undefined
  /** Turns that were committed and that other processes have not been told of yet. */
  readonly #committed: (readonly Turn[])[] = []
  #reconnectTimer: ReturnType<typeof setTimeout> | undefined
  #selfTestTimer: ReturnType<typeof setTimeout> | undefined
  #reconnectMs = reconnectMsMin
  #closed = false
  /** Another process follows the changes until then. */
  #followedUntil = 0
  /** This process has said that it follows, and need not repeat that before then. */
  #followSaidUntil = 0
  #transactionalAt = -Infinity

  /** `listenPool`: where the connection that listens comes from. Undefined: this process does not listen. */
  constructor(pool: PostgresPool, listenPool: PostgresPool | undefined, schema: string, log: Logger) {
    this.#pool = pool
    this.#listenPool = listenPool
    this.#channel = channelOf(schema)
    this.#schema = schema
    this.#log = log
  }

  /** The connection that listens, if it leads to the server in the same way as the pool. */
  get listenConnection(): ListenConnection | undefined {
    return this.#listenPool === this.#pool ? this.#listenConnection : undefined
  }

  get channel(): string {
    return this.#channel
  }

  /** The payload that a caller's transaction sends with its commit: to all processes, because this process does not know when the caller commits. */
  callerPayload(hasTasks: boolean): string {
    return `caller:${work}${hasTasks ? newTasks : ""}`
  }

  listen(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls back with messages that a notification carried. The listener returns true if it accepts the message. */
  listenForPushed(listener: (message: Message) => boolean): () => void {
    this.#pushListeners.add(listener)
    return () => this.#pushListeners.delete(listener)
  }

  /** Other processes have admitted these instances. */
  onAdmitted: (ids: readonly string[]) => void = () => undefined

  /** This process has admitted these instances, and other processes can claim them. */
  admitted(ids: readonly string[]): void {
    for (const id of ids) this.#outgoing.add(`${admittedKind}${id}`)
  }

  /** Other processes can read messages for these instances. */
  messagesDelivered(ids: Iterable<string>): void {
    for (const id of ids) this.#outgoing.add(`${messageKind}${id}`)
  }

  /**
   * A notification for the transaction that delivers these messages, which saves a round trip. The transaction takes a lock on the whole database while it
   * commits. Undefined: such a notification was asked for a moment ago, and the caller calls `messagesDelivered` after the commit.
   */
  notificationFor(messages: readonly NewMessage[]): Notification | PushNotification | undefined {
    if (!this.#mayNotifyWithin()) return undefined
    const [message] = messages
    const pushPayload = messages.length === 1 && message ? toPushedPayload(this.#name, message) : undefined
    if (pushPayload && message && this.#pushChannel !== undefined)
      return { channel: this.#channel, ...messagePayloads(this.#name, message.instance), pushChannel: this.#pushChannel, pushPayload }
    return { channel: this.#channel, payload: toPayload(this.#name, new Set(messages.map(({ instance }) => `${messageKind}${instance}`))) }
  }

  /** As `notificationFor`, for a function of the database that finds out itself which messages it delivers, and writes their notifications. */
  deliveryChannels(): { readonly sender: string; readonly channel: string; readonly pushChannel: string } | undefined {
    if (this.#pushChannel === undefined || !this.#mayNotifyWithin()) return undefined
    return { sender: this.#name, channel: this.#channel, pushChannel: this.#pushChannel }
  }

  #mayNotifyWithin(): boolean {
    const now = performance.now()
    const isTooSoon = now < this.#transactionalAt + transactionalGapMs
    this.#transactionalAt = now
    if (!isTooSoon) this.#poll.speedUp()
    return !isTooSoon
  }

  /** Other processes can claim or read something. */
  work(): void {
    this.#outgoing.add(work)
  }

  /** This process reads the changes: the other processes are to tell of every turn for a while. */
  follow(): void {
    const now = performance.now()
    if (now < this.#followSaidUntil) return
    this.#followSaidUntil = now + followedMs / 3
    this.#outgoing.add(followed)
    // A later look finds turns that the other processes wrote before they knew.
    this.lookLater(followDelayMs)
  }

  /** Whoever follows the changes in this process is to look again after a while. */
  lookLater(ms: number): void {
    setTimeout(() => this.#incoming.add(changed), ms).unref()
  }

  /** Turns were written, or may have been. Callers of this process that wait for them continue before other processes are told. */
  turnsCommitted(turns: readonly Turn[]): void {
    if (this.#committed.push(turns) === 1) setImmediate(() => this.#notifyOfCommitted())
  }

  #notifyOfCommitted(): void {
    for (const turns of this.#committed.splice(0)) this.#notifyOf(turns)
  }

  #notifyOf(turns: readonly Turn[]): void {
    if (performance.now() < this.#followedUntil) this.#outgoing.add(changed)
    turns.forEach(({ create, state, sends, tasks, at, instance, position, entries }) => {
      if (state && (isTerminal(state.status) || state.status === "stalled")) this.#outgoing.add(`${ended}${instance}`)
      if (position > 1 && answersUpdate.test(entries)) this.#outgoing.add(updateAnswered)
      if (tasks?.length) this.#outgoing.add(newTasks)
      const hasNoOwner = state !== undefined && state.owner === undefined
      if (sends) this.messagesDelivered(sends.map((message) => message.instance))
      if (hasNoOwner && (create !== undefined || (state.dueAt ?? Infinity) <= at)) this.#outgoing.add(work)
    })
  }

  /** Tells the listeners of this process to look at everything: there may be something that no notification told of. */
  notifySelf(): void {
    for (const kind of everyKind) this.#incoming.add(kind)
  }

  /** Connects for the first time. If the connection that listens has its own address, the store works without it until the address can be reached. */
  async open(secret: string): Promise<void> {
    // The secret may be copied with the tables into another schema, which must have another channel.
    this.#pushChannel = createHash("sha256").update(`${secret} ${this.#schema}`).digest("base64url")
    try {
      await this.connect()
    } catch (error) {
      if (this.#listenPool === this.#pool) throw error
      this.#reconnect(error)
    }
  }

  /** Opens the connection that listens. It is opened again when it breaks. */
  async connect(): Promise<void> {
    if (this.#listenPool === undefined) return this.#poll.start()
    const client = (await this.#listenPool.connect()) as NotifyingClient
    if (this.#closed) return client.release()
    const channels = this.#pushChannel === undefined ? [this.#channel] : [this.#channel, this.#pushChannel]
    const connection = new ListenConnection(client, channels, {
      onNotification: (payload, channel) => (channel === this.#channel ? this.#onNotification(payload) : this.#onPushed(payload)),
      onLost: (error) => this.#lost(connection, error),
    })
    this.#listenConnection = connection
    try {
      await connection.open()
      this.#reconnectMs = reconnectMsMin
      this.#startSelfTest()
    } catch (error) {
      this.#listenConnection = undefined
      connection.drop()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#reconnectTimer)
    clearTimeout(this.#selfTestTimer)
    this.#poll.stop()
    this.#listeners.clear()
    this.#pushListeners.clear()
    this.#incoming.close()
    this.#notifyOfCommitted()
    await this.#outgoing.finish()
    const connection = this.#listenConnection
    this.#listenConnection = undefined
    await connection?.close()
  }

  #onNotification(payload: string): void {
    // The message itself has just arrived on the other channel.
    if (isPushed(payload)) return
    const { sender, flags } = fromPayload(payload)
    if (sender === this.#name) return flags.includes(selfTest) ? this.#selfTestPassed() : undefined
    for (const flag of flags) if (flag !== selfTest) this.#incoming.add(flag)
  }

  #onPushed(payload: string): void {
    const pushed = fromPushedPayload(payload)
    if (pushed === undefined) return this.#incoming.add(work)
    const { sender, message } = pushed
    if (sender !== this.#name && !this.pushedMessages.offer(message, this.#pushListeners)) this.#incoming.add(`${messageKind}${message.instance}`)
  }

  #receive(flags: ReadonlySet<string>): void {
    if (flags.has(followed)) this.#followedUntil = performance.now() + followedMs
    const admitted = idsOf(flags, admittedKind)
    if (admitted.length > 0) this.onAdmitted(admitted)
    if ([...flags].every((flag) => flag.startsWith(admittedKind))) return
    const hint = toHint(flags)
    for (const listener of this.#listeners) listener(hint)
  }

  #startSelfTest(): void {
    if (this.#closed) return
    this.#outgoing.add(selfTest)
    clearTimeout(this.#selfTestTimer)
    this.#selfTestTimer = setTimeout(() => {
      this.#log.warn(
        "notifications of PostgreSQL do not arrive, and are made up for by asking again and again; behind a pooler in transaction mode give listen: { connectionString } that leads to the server itself, or say listen: false",
      )
      this.#poll.start()
    }, selfTestMs).unref()
  }

  #selfTestPassed(): void {
    clearTimeout(this.#selfTestTimer)
    this.#poll.stop()
    if (this.#listenConnection) this.#listenConnection.isVerified = true
  }

  #lost(connection: ListenConnection, error: Error | undefined): void {
    if (this.#listenConnection !== connection) return
    this.#listenConnection = undefined
    connection.drop(error)
    this.#reconnect(error)
  }

  #reconnect(error: unknown): void {
    // A connection that breaks while it begins to listen reports that twice: by its event, and as the answer to its statement.
    if (this.#closed || this.#reconnectTimer !== undefined) return
    this.#log.warn("the connection that listens for hints is lost; connecting again", { error })
    clearTimeout(this.#selfTestTimer)
    this.#poll.start()
    this.#reconnectTimer = setTimeout(() => {
      this.#reconnectTimer = undefined
      this.connect().then(
        // Notifications that were sent meanwhile are lost.
        () => this.notifySelf(),
        (failure: unknown) => this.#reconnect(failure),
      )
    }, this.#reconnectMs)
    this.#reconnectMs = Math.min(this.#reconnectMs * 2, reconnectMsMax)
  }

  async #send(flags: ReadonlySet<string>): Promise<void> {
    this.#poll.speedUp()
    try {
      const client = await this.#pool.connect()
      client.on("error", ignored)
      try {
        await client.query("SELECT pg_notify($1, $2)", [this.#channel, toPayload(this.#name, flags)])
        client.off("error", ignored)
        client.release()
      } catch (error) {
        client.release(true)
        throw error
      }
    } catch (error) {
      if (this.#closed) return
      this.#log.debug("a hint to other processes could not be sent; trying again", { error })
      // The hint may be about a write that was committed just before the connection broke. Without the hint, the other processes would find
      // the write only at their next sweep.
      setTimeout(() => {
        for (const flag of flags) this.#outgoing.add(flag)
      }, resendMs).unref()
    }
  }
}

/** The statement fails with the same error. */
function ignored(): void {}

function channelOf(schema: string): string {
  return `perdure ${schema.replaceAll('"', "")}`
}
