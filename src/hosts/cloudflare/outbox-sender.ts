import type { Logger } from "../../ports/host.ts"
import type { ObjectNetwork } from "../../ports/object-network.ts"
import type { ObjectTables, OutgoingMessage } from "../../ports/object-tables.ts"

const batchMax = 100
const retryMs = 1_000
const retryMsMax = 60_000
/** The alarm that stands by while a send is under way. */
const netMs = 30_000

/** Sends what the object has to tell others, until they have acknowledged it: those of one target in their order. */
export class OutboxSender {
  readonly #tables: ObjectTables
  readonly #network: ObjectNetwork
  readonly #now: () => number
  readonly #log: Logger
  #sending: Promise<void> | undefined
  #failures = 0
  #nextTryAt: number | undefined

  constructor(tables: ObjectTables, network: ObjectNetwork, now: () => number, log: Logger) {
    this.#tables = tables
    this.#network = network
    this.#now = now
    this.#log = log
  }

  /** When the object has to be awake for it; undefined: all is sent. */
  get nextTryAt(): number | undefined {
    return this.#nextTryAt
  }

  get idle(): boolean {
    return this.#sending === undefined && this.#nextTryAt === undefined
  }

  /** Resolves when what there was is sent, or could not be. */
  async flush(): Promise<void> {
    await this.#sending
  }

  /** Something may have been written. `onDone`: called when all is acknowledged, or has to be tried again later. */
  send(onDone: () => void, isRetry = false): void {
    if (this.#sending !== undefined || (!isRetry && this.#failures > 0)) return
    if (this.#tables.outgoing(1).length === 0) {
      this.#nextTryAt = undefined
      return
    }
    this.#nextTryAt = this.#now() + netMs
    this.#sending = this.#sendAll()
      .catch(this.#failed)
      .finally(() => {
        this.#sending = undefined
        onDone()
      })
  }

  async #sendAll(): Promise<void> {
    for (;;) {
      const messages = this.#tables.outgoing(batchMax)
      if (messages.length === 0) break
      const results = await Promise.allSettled([...byTarget(messages)].map(([target, batch]) => this.#sendTo(target, batch)))
      const failed = results.find((result) => result.status === "rejected")
      if (failed) {
        this.#failed(failed.reason)
        return
      }
    }
    this.#failures = 0
    this.#nextTryAt = undefined
  }

  readonly #failed = (error: unknown): void => {
    const waitMs = Math.min(retryMs * 2 ** this.#failures++, retryMsMax)
    this.#nextTryAt = this.#now() + waitMs
    this.#log.warn("messages to other instances could not be sent; trying again", { error, inMs: waitMs })
  }

  async #sendTo(target: string, batch: readonly OutgoingMessage[]): Promise<void> {
    await this.#network.peer(target).take(this.#tables.sender(), batch)
    this.#tables.sent(batch.map(({ seq }) => seq))
  }
}

function byTarget(messages: readonly OutgoingMessage[]): Map<string, OutgoingMessage[]> {
  const targets = new Map<string, OutgoingMessage[]>()
  for (const outgoing of messages) {
    const batch = targets.get(outgoing.message.instance)
    if (batch) batch.push(outgoing)
    else targets.set(outgoing.message.instance, [outgoing])
  }
  return targets
}
