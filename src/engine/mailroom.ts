import { PerdureError } from "../core/errors.ts"
import type { Delivery, Directory } from "../ports/directory.ts"
import type { Host } from "../ports/host.ts"
import type { JournalStore, Message, NewMessage } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import type { InstanceRunner } from "./instance-runner.ts"
import type { Timers } from "./timers.ts"

const readRetryMs = 100
/** Some seconds. Then the instance leaves memory, and is loaded again later. */
const readTriesMax = 6

/** Messages out and in. */
export interface Mail {
  /** None is on its way. */
  readonly idle: boolean
  deliver(message: NewMessage): Promise<Delivery>
  /** Reads the runner's inbox and hands it what is there. */
  read(runner: InstanceRunner): void
}

/**
 * Messages out and in. Those sent at the same moment are delivered in one transaction, and resident instances that may have
 * some are asked about in one read.
 */
export class Mailroom implements Mail {
  readonly #directory: Directory
  readonly #journal: JournalStore
  readonly #host: Host
  readonly #timers: Timers
  readonly #onUnreadable: (runner: InstanceRunner, error: unknown) => void
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
  }

  get idle(): boolean {
    return !this.#delivering && !this.#reading
  }

  /** Resolves when what is under way now is over. */
  async whenIdle(): Promise<void> {
    await this.#delivering
    await this.#reading
  }

  deliver(message: NewMessage): Promise<Delivery> {
    return new Promise((resolve, reject) => {
      this.#outgoing.push({ message, resolve, reject })
      this.#delivering ??= Promise.resolve().then(() => this.#flush())
    })
  }

  /** A message that was alone in the runner's inbox. False: that is being read, and whatever is there comes with it; or it is an old one. */
  hear(runner: InstanceRunner, message: Message): boolean {
    if (runner.inboxDirty || message.seq <= runner.inboxSeen) return false
    this.#hand(runner, [message])
    return true
  }

  read(runner: InstanceRunner): void {
    runner.inboxDirty = true
    this.#readers.add(runner)
    this.#reading ??= Promise.resolve().then(() => this.#readAll())
  }

  async #flush(): Promise<void> {
    while (this.#outgoing.length > 0) {
      const batch = this.#outgoing
      this.#outgoing = []
      await this.#deliver(batch)
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
      const runners = [...this.#readers]
      this.#readers = new Set()
      await this.#read(runners)
    }
    this.#reading = undefined
  }

  async #read(runners: readonly InstanceRunner[]): Promise<void> {
    let messages: readonly Message[]
    try {
      // One that has just been dropped may be among them beside its successor; each message is wanted once.
      messages = await this.#journal.readInbox([...new Set(runners.map(({ id }) => id))])
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
      this.#hand(runner, byInstance.get(runner.id) ?? [])
    }
  }

  #hand(runner: InstanceRunner, messages: readonly Message[]): void {
    try {
      runner.receive(messages)
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
    this.#timers.set(this.#host.now() + readRetryMs * 2 ** (failures - 1), () => {
      if (!runner.isGone) this.read(runner)
    })
  }
}

interface Outgoing {
  readonly message: NewMessage
  readonly resolve: (delivery: Delivery) => void
  readonly reject: (error: unknown) => void
}
