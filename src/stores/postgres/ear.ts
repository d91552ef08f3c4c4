import type { PostgresClient } from "./pg.ts"

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

export interface EarListener {
  readonly onHeard: (payload: string, channel: string) => void
  readonly onLost: (error: Error | undefined) => void
}

/** A connection of the pool that listens to channels until it is given back. */
export class Ear {
  readonly #client: NotifyingClient
  readonly #channels: readonly string[]
  readonly #listener: EarListener
  #isGivenBack = false

  constructor(client: NotifyingClient, channels: readonly string[], listener: EarListener) {
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

  async close(): Promise<void> {
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
