import type { Logger } from "../../ports/host.ts"
import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { ObjectTables, OutgoingMessage } from "../../ports/cloudflare/object-tables.ts"

const batchMax = 100
const targetsMax = 100
const retryMs = 1_000
const retryMsMax = 60_000
/** If the object is evicted during a send, the alarm wakes it after this time. */
const backupMs = 30_000

/** Sends the object's outbox to other objects until they acknowledge it. Messages to one target stay in order, and no target waits for another target. */
export class OutboxSender {
  readonly #tables: Pick<ObjectTables, "outgoing" | "sent" | "sender">
  readonly #network: ObjectNetwork
  readonly #now: () => number
  readonly #log: Logger
  /** Targets with a send under way, and when it started. */
  readonly #busy = new Map<string, number>()
  /** Targets whose last send failed, the number of failures in a row, and the time of the retry. */
  readonly #failed = new Map<string, { readonly failures: number; readonly at: number }>()

  constructor(tables: Pick<ObjectTables, "outgoing" | "sent" | "sender">, network: ObjectNetwork, now: () => number, log: Logger) {
    this.#tables = tables
    this.#network = network
    this.#now = now
    this.#log = log
  }

  /** When the alarm has to call `send`. Undefined: everything is acknowledged. */
  get retryAt(): number | undefined {
    let next = Infinity
    for (const since of this.#busy.values()) next = Math.min(next, since + backupMs)
    for (const [target, { at }] of this.#failed) if (!this.#busy.has(target)) next = Math.min(next, at)
    return next === Infinity ? undefined : next
  }

  /** Sends what is in the outbox. `isRetry`: targets whose last send failed are tried again. `onDone`: called each time a target has acknowledged or failed. */
  send(onDone: () => void, isRetry = false): void {
    const now = this.#now()
    const postponed = isRetry ? [] : [...this.#failed].filter(([, { at }]) => at > now).map(([target]) => target)
    while (this.#busy.size < targetsMax) {
      const messages = this.#tables.outgoing(batchMax, [...this.#busy.keys(), ...postponed])
      if (messages.length === 0) return
      for (const [target, batch] of byTarget(messages)) {
        this.#busy.set(target, now)
        void this.#sendTo(target, batch)
          .finally(() => this.#busy.delete(target))
          .then(() => this.send(onDone))
          .then(onDone)
          // The backup alarm of this send tries again.
          .catch((error: unknown) => this.#log.error("a follow-up failed", { error, instance: target }))
      }
    }
  }

  async #sendTo(target: string, batch: readonly OutgoingMessage[]): Promise<void> {
    try {
      await this.#network.peer(target).receive(this.#tables.sender(), batch)
      this.#tables.sent(batch.map(({ seq }) => seq))
      this.#failed.delete(target)
    } catch (error) {
      const { failures } = this.#failed.get(target) ?? { failures: 0 }
      const waitMs = Math.min(retryMs * 2 ** Math.min(failures, 20), retryMsMax)
      this.#failed.set(target, { failures: failures + 1, at: this.#now() + waitMs })
      this.#log.warn("messages to another instance could not be sent; trying again", { error, instance: target, inMs: waitMs })
    }
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
