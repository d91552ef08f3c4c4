import type { PostgresClient } from "../connection/pg.ts"
import { isMisprepared, isUnreachable } from "../connection/postgres-failure.ts"

interface Notification {
  readonly channel: string
  readonly payload?: string | undefined
}

/** A client of `pg`, with its events. */
export type NotifyingClient = PostgresClient & {
  on(event: "notification", listener: (message: Notification) => void): unknown
  on(event: "error" | "end", listener: (error?: Error) => void): unknown
  off(event: "notification", listener: (message: Notification) => void): unknown
  off(event: "error" | "end", listener: (error?: Error) => void): unknown
}

export interface ListenConnectionListener {
  readonly onNotification: (payload: string, channel: string) => void
  readonly onLost: (error: Error | undefined) => void
}

type OnAnswer = (error: Error | null | undefined, answer: string | null) => void

/** A connection of the pool that listens to channels until it is released. Between notifications it executes short statements, one at a time. */
export class ListenConnection {
  /** A notification of this process has arrived. So the connection is its own, and not one that a pooler lends for each statement. */
  isVerified = false
  readonly #client: NotifyingClient
  readonly #channels: readonly string[]
  readonly #listener: ListenConnectionListener
  #isBusy = false
  #isClosing = false
  #isReleased = false
  #onAnswered: () => void = () => undefined

  constructor(client: NotifyingClient, channels: readonly string[], listener: ListenConnectionListener) {
    this.#client = client
    this.#channels = channels
    this.#listener = listener
  }

  async open(): Promise<void> {
    this.#client.on("notification", this.#onNotification)
    this.#client.on("error", this.#onError)
    this.#client.on("end", this.#onError)
    await this.#client.query(this.#onEach("LISTEN"))
  }

  get isFree(): boolean {
    return this.isVerified && !this.#isBusy && !this.#isClosing && !this.#isReleased
  }

  /** The result has a column with the name `answer`. */
  query(name: string, text: string, values: (string | null)[], onAnswer: OnAnswer): void {
    this.#isBusy = true
    const answered: OnAnswer = (error, answer) => {
      this.#isBusy = false
      this.#onAnswered()
      // Also if the connection still works: the server refuses writes, or has not answered in time.
      if (error && isUnreachable(error)) this.#lose(error)
      // Another program changes the prepared statements of this connection, so it may be a pooler's.
      if (error && isMisprepared(error)) this.isVerified = false
      onAnswer(error, answer)
    }
    try {
      this.#client.query({ name, text, values }).then(
        ({ rows }) => answered(undefined, (rows[0]?.["answer"] ?? null) as string | null),
        (error: Error) => answered(error, null),
      )
    } catch (error) {
      answered(error instanceof Error ? error : new Error(String(error)), null)
    }
  }

  /** A connection that is being closed needs no UNLISTEN any more. */
  #lose(error: Error): void {
    if (this.#isClosing) this.drop(error)
    else this.#listener.onLost(error)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#isBusy) await new Promise<void>((resolve) => (this.#onAnswered = resolve))
    if (this.#isReleased) return
    try {
      await this.#client.query(this.#onEach("UNLISTEN"))
      this.#removeListeners()
      this.#release()
    } catch {
      this.drop()
    }
  }

  /** The connection cannot be used any more. */
  drop(error?: Error): void {
    this.#removeListeners()
    // The connection may report its error more than once.
    this.#client.on("error", () => {})
    this.#release(error ?? true)
  }

  #release(error?: Error | true): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#client.release(error)
  }

  #removeListeners(): void {
    this.#client.off("notification", this.#onNotification)
    this.#client.off("end", this.#onError)
    this.#client.off("error", this.#onError)
  }

  readonly #onNotification = ({ channel, payload = "" }: Notification): void => {
    if (this.#channels.includes(channel)) this.#listener.onNotification(payload, channel)
  }

  #onEach(command: "LISTEN" | "UNLISTEN"): string {
    return this.#channels.map((channel) => `${command} "${channel}"`).join("; ")
  }

  readonly #onError = (error?: Error): void => this.#listener.onLost(error)
}
