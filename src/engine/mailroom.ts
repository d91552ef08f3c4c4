import type { Delivery, Directory } from "../ports/directory.ts"
import type { JournalStore, Message, NewMessage } from "../ports/journal-store.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/**
 * Messages out and in. Those sent at the same moment are delivered in one transaction, and resident instances that may have
 * some are asked about in one read.
 */
export class Mailroom {
  readonly #directory: Directory
  readonly #journal: JournalStore
  readonly #onUnreadable: (runner: InstanceRunner, error: unknown) => void
  #outgoing: Outgoing[] = []
  #delivering = false
  #readers = new Set<InstanceRunner>()
  #reading = false

  constructor(journal: JournalStore, directory: Directory, onUnreadable: (runner: InstanceRunner, error: unknown) => void) {
    this.#journal = journal
    this.#directory = directory
    this.#onUnreadable = onUnreadable
  }

  get idle(): boolean {
    return !this.#delivering && !this.#reading
  }

  deliver(message: NewMessage): Promise<Delivery> {
    return new Promise((resolve, reject) => {
      this.#outgoing.push({ message, resolve, reject })
      if (this.#delivering) return
      this.#delivering = true
      queueMicrotask(() => void this.#flush())
    })
  }

  /** Reads the runner's inbox and hands it what is there. */
  read(runner: InstanceRunner): void {
    runner.inboxDirty = true
    this.#readers.add(runner)
    if (this.#reading) return
    this.#reading = true
    queueMicrotask(() => void this.#readAll())
  }

  async #flush(): Promise<void> {
    while (this.#outgoing.length > 0) {
      const batch = this.#outgoing
      this.#outgoing = []
      try {
        const deliveries = await this.#directory.deliver(batch.map(({ message }) => message))
        batch.forEach(({ resolve }, index) => resolve(deliveries[index] ?? "absent"))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#delivering = false
  }

  async #readAll(): Promise<void> {
    while (this.#readers.size > 0) {
      const runners = [...this.#readers]
      this.#readers = new Set()
      try {
        const messages = await this.#journal.readInbox(runners.map(({ id }) => id))
        const byInstance = new Map<string, Message[]>()
        for (const message of messages) {
          const list = byInstance.get(message.instance)
          if (list) list.push(message)
          else byInstance.set(message.instance, [message])
        }
        for (const runner of runners) runner.receive(byInstance.get(runner.id) ?? [])
      } catch (error) {
        for (const runner of runners) this.#onUnreadable(runner, error)
      }
    }
    this.#reading = false
  }
}

interface Outgoing {
  readonly message: NewMessage
  readonly resolve: (delivery: Delivery) => void
  readonly reject: (error: unknown) => void
}
