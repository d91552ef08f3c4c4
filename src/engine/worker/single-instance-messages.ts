import type { Delivery, Directory } from "../../ports/directory.ts"
import type { Host } from "../../ports/host.ts"
import type { JournalStore, NewMessage } from "../../ports/journal-store.ts"

import type { InstanceRunner } from "../runner/instance-runner.ts"
import { inboxPartMax, type Messages } from "./message-batcher.ts"

/** Delivers messages and reads the inbox in a Durable Object, which has one instance. Its store is local, so a read that fails is not retried. */
export class SingleInstanceMessages implements Messages {
  readonly #directory: Directory
  readonly #journal: JournalStore
  readonly #host: Host
  readonly #onUnreadable: (runner: InstanceRunner, error: unknown) => void
  /** The runner whose inbox is to be read. */
  #reader: InstanceRunner | undefined
  #isReading = false
  #delivering = 0

  constructor({ directory, journal }: MessageStore, host: Host, onUnreadable: (runner: InstanceRunner, error: unknown) => void) {
    this.#directory = directory
    this.#journal = journal
    this.#host = host
    this.#onUnreadable = onUnreadable
  }

  get idle(): boolean {
    return this.#delivering === 0 && !this.#isReading
  }

  async deliver(message: NewMessage): Promise<Delivery> {
    this.#delivering++
    try {
      const [delivery = "absent"] = await this.#directory.deliver([message])
      return delivery
    } finally {
      this.#delivering--
    }
  }

  read(runner: InstanceRunner): void {
    runner.isInboxDirty = true
    this.#reader = runner
    if (!this.#isReading) void this.#readAll()
  }

  async #readAll(): Promise<void> {
    this.#isReading = true
    // Messages that arrive at the same moment are read together.
    await Promise.resolve()
    for (let runner = this.#reader; runner !== undefined; runner = this.#reader) {
      this.#reader = undefined
      try {
        const messages = await this.#journal.readInbox([runner.id], { after: [runner.inboxSeen], limit: inboxPartMax })
        const isAll = messages.length < inboxPartMax
        runner.receive(messages, isAll)
        if (!isAll && !runner.isGone) this.#reader = runner
      } catch (error) {
        this.#onUnreadable(runner, error)
      }
      // A macrotask passes between two parts, so that everything else in the object continues.
      if (this.#reader) await new Promise<void>((resolve) => this.#host.quiesce(resolve))
    }
    this.#isReading = false
  }
}

interface MessageStore {
  readonly directory: Directory
  readonly journal: JournalStore
}
