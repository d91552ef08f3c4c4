import { createHash } from "node:crypto"
import { isTerminal } from "../../../core/journal/status.ts"
import type { Message, NewMessage, Turn } from "../../../ports/journal-store.ts"
import type { Hint } from "../../../ports/store.ts"
import type { Logger } from "../../../ports/host.ts"
import { fromPayload, hasMail, idsOf, mailPayloads, toHint, toPayload } from "./notification-payload.ts"
import { Coalescer } from "./coalescer.ts"
import { ListenConnection, type NotifyingClient } from "./listen-connection.ts"
import { PushedMessages, mailFrom, mailOf } from "./pushed-messages.ts"
import { AdaptivePoll } from "./adaptive-poll.ts"
import type { PostgresPool } from "../connection/pg.ts"
import type { Notification, NotificationWithMail } from "../turns/instance-queries.ts"

/** Whoever follows says so three times within this. */
const followedMs = 90_000
const hearingMs = 100
const resendMs = 250
const reconnectMsMin = 100
const reconnectMsMax = 5_000
/** Between two notifications that are part of the transactions which they are about. */
const rarelyMs = 20
/** How long what we tell ourselves may take to be heard. */
const echoMs = 5_000

/** In the text of a turn, as docs/journal-format.md has it. What only looks so costs somebody a look. */
const tellsAnswers = /\{"type":"(?:update\.completed|update\.failed|run\.started)"/

/**
 * Tells the other processes that something has changed, and listens for what they tell. A notification is sent after a commit, not in it:
 * there it would take a lock on the whole database. Many are one. They are hints: one that is lost is made up for by the next sweep.
 *
 *   w  there may be something to claim, or to read: for workers
 *   m  messages were delivered to these, by their ids: for whoever has them in memory, or could claim them. Where it is a single one it may go along, on
 *      a channel of its own (PushedMessages)
 *   e  something has ended: for whoever waits for it. With ids behind it, only these
 *   l  these, by their ids, were let in by flow control: for workers, who need look for nothing else
 *   a  an update was answered, or a run is over
 *   c  something was written to a journal: only while somebody follows
 *   f  somebody follows
 *   p  whether we hear what we tell ourselves: behind a pooler that lends connections for a transaction only, nobody hears anything
 *
 * While nothing is heard, it looks by itself.
 */
export class Notifier {
  readonly #pool: PostgresPool
  readonly #ears: PostgresPool | undefined
  readonly #channel: string
  readonly #schema: string
  /** Messages that came with the notification of them. */
  readonly heard = new PushedMessages()
  #mailChannel: string | undefined
  readonly #name = Math.random().toString(36).slice(2)
  readonly #log: Logger
  readonly #listeners = new Set<(hint: Hint) => void>()
  readonly #takers = new Set<(message: Message) => boolean>()
  readonly #out = new Coalescer((flags) => this.#send(flags))
  readonly #poll = new AdaptivePoll(() => this.notifySelf())
  readonly #in = new Coalescer(async (flags) => {
    if (flags.has("f")) this.#followedUntil = performance.now() + followedMs
    const admitted = idsOf(flags, "l")
    if (admitted.length > 0) this.onLetIn(admitted)
    if ([...flags].every((flag) => flag.startsWith("l"))) return
    const hint = toHint(flags)
    for (const listener of this.#listeners) listener(hint)
  })
  #ear: ListenConnection | undefined
  readonly #untold: (readonly Turn[])[] = []
  #retry: ReturnType<typeof setTimeout> | undefined
  #echo: ReturnType<typeof setTimeout> | undefined
  #retryMs = reconnectMsMin
  #closed = false
  #followedUntil = 0
  #saidUntil = 0
  #withinAt = -Infinity

  /** `ears`: where the connection that listens comes from. Undefined: nobody listens. */
  constructor(pool: PostgresPool, ears: PostgresPool | undefined, schema: string, log: Logger) {
    this.#pool = pool
    this.#ears = ears
    this.#channel = channelOf(schema)
    this.#schema = schema
    this.#log = log
  }

  /** The connection that listens, where it leads to the server as all others do. */
  get ear(): ListenConnection | undefined {
    return this.#ears === this.#pool ? this.#ear : undefined
  }

  get channel(): string {
    return this.#channel
  }

  /** What a transaction of a caller's tells when it is committed: to all, as nobody here knows when that is. */
  readonly messageOfCaller = "caller:w"

  listen(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** For messages that come with the notification of them: true where it is taken in. */
  listenForMail(taker: (message: Message) => boolean): () => void {
    this.#takers.add(taker)
    return () => this.#takers.delete(taker)
  }

  /** Others have let these in. */
  onLetIn: (ids: readonly string[]) => void = () => undefined

  /** These were let in, and can be claimed by others. */
  letIn(ids: readonly string[]): void {
    for (const id of ids) this.#out.add(`l${id}`)
  }

  /** Messages for these can be read by others. */
  mail(ids: Iterable<string>): void {
    for (const id of ids) this.#out.add(`m${id}`)
  }

  /**
   * The same as a notification that is part of the transaction which it is about, and so a round trip earlier. That takes a lock on the whole
   * database for as long as the transaction takes to commit: undefined where this was asked for a moment ago.
   */
  notificationFor(messages: readonly NewMessage[]): Notification | NotificationWithMail | undefined {
    const now = performance.now()
    const isBusy = now < this.#withinAt + rarelyMs
    this.#withinAt = now
    if (isBusy) return undefined
    this.#poll.stir()
    const [message] = messages
    const mail = messages.length === 1 && message ? mailOf(this.#name, message) : undefined
    if (mail && message && this.#mailChannel !== undefined)
      return { channel: this.#channel, ...mailPayloads(this.#name, message.instance), mailChannel: this.#mailChannel, mail }
    return { channel: this.#channel, payload: toPayload(this.#name, new Set(messages.map(({ instance }) => `m${instance}`))) }
  }

  /** Something can be claimed or read by others. */
  work(): void {
    this.#out.add("w")
  }

  /** Somebody here reads the changes: others are to tell of every turn, for a while. */
  follow(): void {
    const now = performance.now()
    if (now < this.#saidUntil) return
    this.#saidUntil = now + followedMs / 3
    this.#out.add("f")
    // What they wrote before they heard of it is found by another look.
    this.lookLater(hearingMs)
  }

  /** Whoever follows here is to look again after a while. */
  lookLater(ms: number): void {
    setTimeout(() => this.#in.add("c"), ms).unref()
  }

  /** Turns were written, or may have been. Whoever waits for that here goes on first. */
  turnsCommitted(turns: readonly Turn[]): void {
    if (this.#untold.push(turns) === 1) setImmediate(() => this.#tellTurns())
  }

  #tellTurns(): void {
    for (const turns of this.#untold.splice(0)) this.#tell(turns)
  }

  #tell(turns: readonly Turn[]): void {
    if (performance.now() < this.#followedUntil) this.#out.add("c")
    turns.forEach(({ create, state, sends, at, instance, position, entries }) => {
      if (state && (isTerminal(state.status) || state.status === "stalled")) this.#out.add(`e${instance}`)
      if (position > 1 && tellsAnswers.test(entries)) this.#out.add("a")
      const isFree = state !== undefined && state.owner === undefined
      if (sends) this.mail(sends.map((message) => message.instance))
      if (isFree && (create !== undefined || (state.dueAt ?? Infinity) <= at)) this.#out.add("w")
    })
  }

  /** Something to look at here, that nobody told of. */
  notifySelf(): void {
    for (const flag of "weac") this.#in.add(flag)
  }

  /** The first time. Where listening has a way of its own, the store does without it for as long as that is closed. */
  async open(secret: string): Promise<void> {
    // In another schema the same secret, copied with the tables, is another channel.
    this.#mailChannel = createHash("sha256").update(`${secret} ${this.#schema}`).digest("base64url")
    try {
      await this.connect()
    } catch (error) {
      if (this.#ears === this.#pool) throw error
      this.#reconnect(error)
    }
  }

  /** On a connection of its own, which is made again when it breaks. */
  async connect(): Promise<void> {
    if (this.#ears === undefined) return this.#poll.start()
    const client = (await this.#ears.connect()) as NotifyingClient
    if (this.#closed) return client.release()
    const channels = this.#mailChannel === undefined ? [this.#channel] : [this.#channel, this.#mailChannel]
    const ear = new ListenConnection(client, channels, {
      onHeard: (payload, channel) => (channel === this.#channel ? this.#onHeard(payload) : this.#onMail(payload)),
      onLost: (error) => this.#lost(ear, error),
    })
    this.#ear = ear
    try {
      await ear.open()
      this.#retryMs = reconnectMsMin
      this.#awaitEcho()
    } catch (error) {
      this.#ear = undefined
      ear.drop()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    clearTimeout(this.#echo)
    this.#poll.stop()
    this.#listeners.clear()
    this.#takers.clear()
    this.#in.close()
    this.#tellTurns()
    await this.#out.finish()
    const ear = this.#ear
    this.#ear = undefined
    await ear?.close()
  }

  #onHeard(payload: string): void {
    // It was here a moment ago.
    if (hasMail(payload)) return
    const { sender, flags } = fromPayload(payload)
    if (sender === this.#name) return flags.includes("p") ? this.#isHeard() : undefined
    for (const flag of flags) if (flag !== "p") this.#in.add(flag)
  }

  #onMail(payload: string): void {
    const told = mailFrom(payload)
    if (told === undefined) return this.#in.add("w")
    if (told.sender !== this.#name && !this.heard.offer(told.message, this.#takers)) this.#in.add(`m${told.message.instance}`)
  }

  #awaitEcho(): void {
    if (this.#closed) return
    this.#out.add("p")
    clearTimeout(this.#echo)
    this.#echo = setTimeout(() => {
      this.#log.warn(
        "notifications of PostgreSQL do not arrive, and are made up for by asking again and again; behind a pooler in transaction mode give listen: { connectionString } that leads to the server itself, or say listen: false",
      )
      this.#poll.start()
    }, echoMs).unref()
  }

  #isHeard(): void {
    clearTimeout(this.#echo)
    this.#poll.stop()
    if (this.#ear) this.#ear.isProven = true
  }

  #lost(ear: ListenConnection, error: Error | undefined): void {
    if (this.#ear !== ear) return
    this.#ear = undefined
    ear.drop(error)
    this.#reconnect(error)
  }

  #reconnect(error: unknown): void {
    // One that breaks while it begins to listen tells so twice: by its event, and as the answer to its statement.
    if (this.#closed || this.#retry !== undefined) return
    this.#log.warn("the connection that listens for hints is lost; connecting again", { error })
    clearTimeout(this.#echo)
    this.#poll.start()
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      this.connect().then(
        // Whatever was told meanwhile was not heard.
        () => this.notifySelf(),
        (failure: unknown) => this.#reconnect(failure),
      )
    }, this.#retryMs)
    this.#retryMs = Math.min(this.#retryMs * 2, reconnectMsMax)
  }

  async #send(flags: ReadonlySet<string>): Promise<void> {
    this.#poll.stir()
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
      // What it tells of may have been written a moment before the connection broke, and others would only find it when they next sweep.
      setTimeout(() => {
        for (const flag of flags) this.#out.add(flag)
      }, resendMs).unref()
    }
  }
}

/** The statement fails as well. */
function ignored(): void {}

function channelOf(schema: string): string {
  return `perdure ${schema.replaceAll('"', "")}`
}
