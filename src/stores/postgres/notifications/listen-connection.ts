import type { PostgresClient } from "../connection/pg.ts"
import { isMisprepared, isUnreachable } from "../connection/postgres-failure.ts"

interface Notification {
  readonly channel: string
  readonly payload?: string | undefined
}

/** What the clients of `pg` are, too. */
export type NotifyingClient = PostgresClient & {
  on(event: "notification", listener: (message: Notification) => void): unknown
  on(event: "error" | "end", listener: (error?: Error) => void): unknown
  off(event: "notification", listener: (message: Notification) => void): unknown
  off(event: "error" | "end", listener: (error?: Error) => void): unknown
}

export interface ListenConnectionListener {
  readonly onHeard: (payload: string, channel: string) => void
  readonly onLost: (error: Error | undefined) => void
}

type OnAnswer = (error: Error | null | undefined, answer: string | null) => void

/** A connection of the pool that listens to channels until it is given back. In between it takes short statements, one at a time. */
export class ListenConnection {
  /** What was told was heard: the connection is ours, and no pooler's that lends another for each statement. */
  isProven = false
  readonly #client: NotifyingClient
  readonly #channels: readonly string[]
  readonly #listener: ListenConnectionListener
  #isAsked = false
  #isClosing = false
  #isGivenBack = false
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
    return this.isProven && !this.#isAsked && !this.#isClosing && !this.#isGivenBack
  }

  /** One column of the answer has that name. */
  query(name: string, text: string, values: (string | null)[], onAnswer: OnAnswer): void {
    this.#isAsked = true
    const answered: OnAnswer = (error, answer) => {
      this.#isAsked = false
      this.#onAnswered()
      // Also where it is still there: a server that takes no writes any more, or has not answered in time.
      if (error && isUnreachable(error)) this.#lose(error)
      // Somebody else disposes of it as well.
      if (error && isMisprepared(error)) this.isProven = false
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

  /** Whoever gives it back meanwhile need not ask it for anything more. */
  #lose(error: Error): void {
    if (this.#isClosing) this.drop(error)
    else this.#listener.onLost(error)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#isAsked) await new Promise<void>((resolve) => (this.#onAnswered = resolve))
    if (this.#isGivenBack) return
    try {
      await this.#client.query(this.#onEach("UNLISTEN"))
      this.#forget()
      this.#giveBack()
    } catch {
      this.drop()
    }
  }

  /** The connection is of no more use. */
  drop(error?: Error): void {
    this.#forget()
    // It may say so more than once.
    this.#client.on("error", () => {})
    this.#giveBack(error ?? true)
  }

  #giveBack(error?: Error | true): void {
    if (this.#isGivenBack) return
    this.#isGivenBack = true
    this.#client.release(error)
  }

  #forget(): void {
    this.#client.off("notification", this.#onNotification)
    this.#client.off("end", this.#onError)
    this.#client.off("error", this.#onError)
  }

  readonly #onNotification = ({ channel, payload = "" }: Notification): void => {
    if (this.#channels.includes(channel)) this.#listener.onHeard(payload, channel)
  }

  #onEach(command: "LISTEN" | "UNLISTEN"): string {
    return this.#channels.map((channel) => `${command} "${channel}"`).join("; ")
  }

  readonly #onError = (error?: Error): void => this.#listener.onLost(error)
}
