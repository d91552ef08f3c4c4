import { isTerminal } from "../../core/status.ts"
import type { Turn } from "../../ports/journal-store.ts"
import type { Hint } from "../../ports/store.ts"
import type { Logger } from "../../ports/host.ts"
import type { PostgresClient, PostgresPool } from "./pg.ts"

/** Between two notifications of one store, and between two hints that it passes on. */
const coalesceMs = 5
/** Whoever follows says so three times within this. */
const followedMs = 90_000
const hearingMs = 100
const reconnectMsMin = 100
const reconnectMsMax = 5_000

type NotifyingClient = PostgresClient & {
  on(event: "notification", listener: (message: { readonly channel: string; readonly payload?: string | undefined }) => void): unknown
  on(event: "error" | "end", listener: (error?: Error) => void): unknown
}

/**
 * Tells the other processes that something has changed, and listens for what they tell. A notification is sent after a commit, not in it:
 * there it would take a lock on the whole database. Many are one. They are hints: one that is lost is made up for by the next sweep.
 *
 *   w  there may be something to claim, or to read: for workers
 *   e  something has ended: for whoever waits for it
 *   c  something was written to a journal: only while somebody follows
 *   f  somebody follows
 */
export class Hints {
  readonly #pool: PostgresPool
  readonly #channel: string
  readonly #name = Math.random().toString(36).slice(2)
  readonly #log: Logger
  readonly #listeners = new Set<(hint: Hint) => void>()
  readonly #out = new Coalesced((flags) => this.#send(flags))
  readonly #in = new Coalesced(async (flags) => {
    if (flags.has("f")) this.#followedUntil = performance.now() + followedMs
    const hint = { work: flags.has("w"), ends: flags.has("e"), changed: flags.has("c") || flags.has("e") || flags.has("w") }
    for (const listener of this.#listeners) listener(hint)
  })
  #client: NotifyingClient | undefined
  #retry: ReturnType<typeof setTimeout> | undefined
  #retryMs = reconnectMsMin
  #closed = false
  #followedUntil = 0
  #saidUntil = 0

  constructor(pool: PostgresPool, schema: string, log: Logger) {
    this.#pool = pool
    this.#channel = channelOf(schema)
    this.#log = log
  }

  listen(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
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
    setTimeout(() => this.#in.add("c"), hearingMs).unref()
  }

  turns(turns: readonly Turn[]): void {
    if (performance.now() < this.#followedUntil) this.#out.add("c")
    for (const { create, state, sends, at } of turns) {
      if (state && isTerminal(state.status)) this.#out.add("e")
      const isFree = state !== undefined && state.owner === undefined
      if (sends?.length || (isFree && (create !== undefined || (state.dueAt ?? Infinity) <= at))) this.#out.add("w")
    }
  }

  /** Something to look at here, that nobody told of. */
  notice(): void {
    for (const flag of "wec") this.#in.add(flag)
  }

  /** On a connection of its own, which is made again when it breaks. */
  async connect(): Promise<void> {
    const client = (await this.#pool.connect()) as NotifyingClient
    if (this.#closed) return client.release(true)
    client.on("notification", ({ channel, payload = "" }) => {
      const [sender, flags = "wec"] = payload.split(":")
      if (channel === this.#channel && sender !== this.#name) for (const flag of flags) this.#in.add(flag)
    })
    client.on("error", (error) => this.#lost(client, error))
    client.on("end", () => this.#lost(client, undefined))
    this.#client = client
    try {
      await client.query(`LISTEN "${this.#channel}"`)
      this.#retryMs = reconnectMsMin
    } catch (error) {
      this.#client = undefined
      client.release(true)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    this.#listeners.clear()
    this.#in.close()
    await this.#out.finish()
    const client = this.#client
    this.#client = undefined
    client?.release(true)
  }

  #lost(client: NotifyingClient, error: Error | undefined): void {
    if (this.#client !== client) return
    this.#client = undefined
    client.release(error ?? true)
    this.#reconnect(error)
  }

  #reconnect(error: unknown): void {
    if (this.#closed) return
    this.#log.warn("the connection that listens for hints is lost; connecting again", { error })
    this.#retry = setTimeout(() => {
      this.connect().then(
        // Whatever was told meanwhile was not heard.
        () => this.notice(),
        (failure: unknown) => this.#reconnect(failure),
      )
    }, this.#retryMs)
    this.#retryMs = Math.min(this.#retryMs * 2, reconnectMsMax)
  }

  async #send(flags: ReadonlySet<string>): Promise<void> {
    try {
      const client = await this.#pool.connect()
      try {
        await client.query("SELECT pg_notify($1, $2)", [this.#channel, `${this.#name}:${[...flags].join("")}`])
        client.release()
      } catch (error) {
        client.release(true)
        throw error
      }
    } catch (error) {
      if (!this.#closed) this.#log.debug("a hint to other processes could not be sent", { error })
    }
  }
}

export function channelOf(schema: string): string {
  return `perdure ${schema.replaceAll('"', "")}`
}

/** Gathers flags and passes them on together: at once where it is quiet, else after a short while. */
class Coalesced {
  readonly #pass: (flags: ReadonlySet<string>) => Promise<void>
  #flags = new Set<string>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #passing: Promise<void> | undefined
  #lastAt = -Infinity
  #closed = false

  constructor(pass: (flags: ReadonlySet<string>) => Promise<void>) {
    this.#pass = pass
  }

  add(flag: string): void {
    if (this.#closed) return
    this.#flags.add(flag)
    if (this.#timer !== undefined || this.#passing !== undefined) return
    const wait = this.#lastAt + coalesceMs - performance.now()
    if (wait > 0) this.#timer = setTimeout(() => this.#flush(), wait).unref()
    else this.#flush()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  /** Passes on what has gathered, and nothing more. */
  async finish(): Promise<void> {
    this.close()
    await this.#passing
    if (this.#flags.size > 0) await this.#pass(this.#flags)
  }

  #flush(): void {
    this.#timer = undefined
    const flags = this.#flags
    this.#flags = new Set()
    this.#passing = Promise.resolve()
      .then(() => this.#pass(flags))
      .finally(() => {
        this.#passing = undefined
        this.#lastAt = performance.now()
        const more = [...this.#flags]
        if (!this.#closed) for (const flag of more) this.add(flag)
      })
  }
}
