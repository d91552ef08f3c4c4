import { PerdureError } from "../../core/errors.ts"
import type { Delivery, Directory } from "../../ports/directory.ts"
import type { Host } from "../../ports/host.ts"
import type { JournalStore, Message, NewMessage } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import { inboxPartMax } from "../runner/inbox-part.ts"
import type { InstanceRunner } from "../runner/instance-runner.ts"
import { PacedQueue } from "./paced-queue.ts"
import type { Timers } from "./timers.ts"

const readRetryMs = 100
/** Some seconds. Then the instance leaves memory, and is loaded again later. */
const readTriesMax = 6
/** So many messages are delivered in one transaction, and so many inboxes are read at once: a store may do that without letting anybody else in. */
const batchMax = 256

/** Messages out and in. */
export interface Messages {
  /** None is on its way. */
  readonly idle: boolean
  /** Where senders may come in crowds. Undefined: it may go on at once. */
  enter?(): Promise<void> | undefined
  deliver(message: NewMessage): Promise<Delivery>
  /** Reads the runner's inbox and hands it what is there. */
  read(runner: InstanceRunner): void
}

/**
 * Messages out and in. Those sent at the same moment are delivered in one transaction, and resident instances that may have
 * some are asked about in one read. In one macrotask there is one of each, the first at once: what comes meanwhile goes along with the next, and a
 * burst does not keep timers, or other instances, from their turn. A store that answers at once would otherwise be called again and again.
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
  /** How often in a row an inbox could not be read. */
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

  /** Resolves when what is under way now is over. */
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

  /** A message that was alone in the runner's inbox. False: that is being read, and whatever is there comes with it; or it is an old one. */
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
      // One of them may be too large for the disk, say. What may have been delivered in spite of the error is not sent twice.
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
    // One that has just been dropped may be among them beside its successor; each message is wanted once.
    const after = new Map<string, number>()
    for (const { id, inboxSeen } of runners) after.set(id, Math.min(inboxSeen, after.get(id) ?? Infinity))
    let messages: readonly Message[]
    try {
      messages = await this.#journal.readInbox([...after.keys()], { after: [...after.values()], limit: inboxPartMax })
    } catch (error) {
      // One that cannot be read must not keep the others from theirs.
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
      // Read again while there may be more. It has not read all until then.
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
