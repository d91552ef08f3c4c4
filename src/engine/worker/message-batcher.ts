import { PerdureError } from "../../core/errors.ts"
import type { Delivery, Directory } from "../../ports/directory.ts"
import type { Host } from "../../ports/host.ts"
import type { JournalStore, Message, NewMessage } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"

import type { InstanceRunner } from "../runner/instance-runner.ts"
import { PacedQueue } from "./paced-queue.ts"
import type { Timers } from "./timers.ts"

const readRetryMs = 100
/** These tries take some seconds. Then the instance leaves memory, and is loaded again later. */
const readTriesMax = 6
/** The most messages in one delivery, and the most inboxes in one read. A store may block the process during each of them. */
const batchMax = 256

/** The most messages of one inbox that are read at once. A longer inbox is read in parts. */
export const inboxPartMax = 256

/** Delivers messages and reads inboxes for a worker: `MessageBatcher`, or `SingleInstanceMessages` in a Durable Object. */
export interface Messages {
  /** No message is being delivered, and no inbox is being read. */
  readonly idle: boolean
  /** Admits a sender, for workers that may have crowds of them. Undefined: the sender may continue at once. */
  enter?(): Promise<void> | undefined
  deliver(message: NewMessage): Promise<Delivery>
  /** Reads the runner's inbox and passes the messages to the runner. */
  read(runner: InstanceRunner): void
}

/**
 * Batches messages. Messages that are sent at the same moment are delivered in one transaction, and the inboxes of all resident instances that may have
 * messages are read in one query. There is at most one delivery and one read per macrotask: messages that arrive meanwhile join the next one. So a
 * burst of messages delays neither timers nor other instances, also on a store that answers without a macrotask in between.
 */
export class MessageBatcher implements Messages {
  readonly #directory: Directory
  readonly #journal: JournalStore
  readonly #host: Host
  readonly #timers: Timers
  readonly #onUnreadable: (runner: InstanceRunner, error: unknown) => void
  readonly #senders: PacedQueue
  readonly #deliveries: PacedQueue
  readonly #reads: PacedQueue
  #outgoing: Outgoing[] = []
  #delivering: Promise<void> | undefined
  #readers = new Set<InstanceRunner>()
  #reading: Promise<void> | undefined
  /** How many reads of the runner's inbox failed in a row. */
  readonly #failures = new WeakMap<InstanceRunner, number>()

  constructor(store: Store, host: Host, timers: Timers, onUnreadable: (runner: InstanceRunner, error: unknown) => void) {
    this.#journal = store.journal
    this.#directory = store.directory
    this.#host = host
    this.#timers = timers
    this.#onUnreadable = onUnreadable
    this.#senders = new PacedQueue(host)
    this.#deliveries = new PacedQueue(host, 1)
    this.#reads = new PacedQueue(host, 1)
  }

  get idle(): boolean {
    return !this.#delivering && !this.#reading
  }

  /** Resolves when the current delivery and the current read are over. */
  async whenIdle(): Promise<void> {
    await this.#delivering
    await this.#reading
  }

  enter(): Promise<void> | undefined {
    return this.#senders.enter()
  }

  deliver(message: NewMessage): Promise<Delivery> {
    return new Promise((resolve, reject) => {
      this.#outgoing.push({ message, resolve, reject })
      this.#delivering ??= Promise.resolve().then(() => this.#flush())
    })
  }

  /**
   * Takes in a message that the store pushed together with a hint; it was alone in the runner's inbox. False: the runner has the message already, or
   * its inbox is about to be read, and that read brings the message in its order.
   */
  receivePushed(runner: InstanceRunner, message: Message): boolean {
    if (runner.isInboxDirty || message.seq <= runner.inboxSeen) return false
    this.#giveTo(runner, [message])
    return true
  }

  read(runner: InstanceRunner): void {
    runner.isInboxDirty = true
    this.#readers.add(runner)
    this.#reading ??= Promise.resolve().then(() => this.#readAll())
  }

  async #flush(): Promise<void> {
    while (this.#outgoing.length > 0) {
      await this.#deliveries.enter()
      const all = this.#outgoing
      this.#outgoing = all.slice(batchMax)
      await this.#deliver(all.length > batchMax ? all.slice(0, batchMax) : all)
    }
    this.#delivering = undefined
  }

  async #deliver(batch: readonly Outgoing[]): Promise<void> {
    try {
      const deliveries = await this.#directory.deliver(batch.map(({ message }) => message))
      batch.forEach(({ resolve }, index) => resolve(deliveries[index] ?? "absent"))
    } catch (error) {
      // One message may be the cause, for example if it is too large for the disk: so each is sent alone. Not if the outcome is unknown: a message could arrive twice.
      const isRefused = PerdureError.is(error) && error.details["isUnknown"] !== true
      if (batch.length > 1 && isRefused) for (const outgoing of batch) await this.#deliver([outgoing])
      else for (const { reject } of batch) reject(error)
    }
  }

  async #readAll(): Promise<void> {
    while (this.#readers.size > 0) {
      await this.#reads.enter()
      const all = [...this.#readers]
      this.#readers = new Set(all.slice(batchMax))
      await this.#read(all.slice(0, batchMax))
    }
    this.#reading = undefined
  }

  async #read(runners: readonly InstanceRunner[]): Promise<void> {
    // A dropped runner and its successor for the same instance may both be here. The inbox is read once, from the lower position of the two.
    const after = new Map<string, number>()
    for (const { id, inboxSeen } of runners) after.set(id, Math.min(inboxSeen, after.get(id) ?? Infinity))
    let messages: readonly Message[]
    try {
      messages = await this.#journal.readInbox([...after.keys()], { after: [...after.values()], limit: inboxPartMax })
    } catch (error) {
      // An inbox that cannot be read must not keep the other runners from their messages.
      if (runners.length > 1) for (const runner of runners) await this.#read([runner])
      else for (const runner of runners) this.#readLater(runner, error)
      return
    }
    const byInstance = new Map<string, Message[]>()
    for (const message of messages) {
      const list = byInstance.get(message.instance)
      if (list) list.push(message)
      else byInstance.set(message.instance, [message])
    }
    for (const runner of runners) {
      this.#failures.delete(runner)
      const unread = byInstance.get(runner.id) ?? []
      // A full part means that there may be more messages: the inbox is read again until a part is not full.
      const isAll = unread.length < inboxPartMax
      this.#giveTo(runner, unread, isAll)
      if (!isAll && !runner.isGone) this.#readers.add(runner)
    }
  }

  #giveTo(runner: InstanceRunner, messages: readonly Message[], isAll = true): void {
    try {
      runner.receive(messages, isAll)
    } catch (bug) {
      this.#onUnreadable(runner, bug)
    }
  }

  #readLater(runner: InstanceRunner, error: unknown): void {
    if (runner.isGone) return
    const failures = (this.#failures.get(runner) ?? 0) + 1
    this.#failures.set(runner, failures)
    if (failures === readTriesMax) return this.#onUnreadable(runner, error)
    const { id } = runner
    if (failures === 1) this.#host.log.error(`the inbox of instance "${id}" could not be read; trying again`, { instance: id, error })
    this.#timers.after(readRetryMs * 2 ** (failures - 1), () => {
      if (!runner.isGone) this.read(runner)
    })
  }
}

interface Outgoing {
  readonly message: NewMessage
  readonly resolve: (delivery: Delivery) => void
  readonly reject: (error: unknown) => void
}
