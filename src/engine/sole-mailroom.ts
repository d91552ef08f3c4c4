import type { Delivery, Directory } from "../ports/directory.ts"
import type { JournalStore, NewMessage } from "../ports/journal-store.ts"
import type { InstanceRunner } from "./instance-runner.ts"
import type { Mail } from "./mailroom.ts"

/** The mailroom of a worker that has one instance. Its store is at hand: what it cannot read now, it cannot read a moment later. */
export class SoleMailroom implements Mail {
  readonly #directory: Directory
  readonly #journal: JournalStore
  readonly #onUnreadable: (runner: InstanceRunner, error: unknown) => void
  /** Whose inbox is to be read. */
  #reader: InstanceRunner | undefined
  #isReading = false
  #delivering = 0

  constructor({ directory, journal }: { directory: Directory; journal: JournalStore }, onUnreadable: (runner: InstanceRunner, error: unknown) => void) {
    this.#directory = directory
    this.#journal = journal
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
    runner.inboxDirty = true
    this.#reader = runner
    if (!this.#isReading) void this.#readAll()
  }

  async #readAll(): Promise<void> {
    this.#isReading = true
    // What comes in the same moment is read together.
    await Promise.resolve()
    for (let runner = this.#reader; runner !== undefined; runner = this.#reader) {
      this.#reader = undefined
      try {
        runner.receive(await this.#journal.readInbox([runner.id]))
      } catch (error) {
        this.#onUnreadable(runner, error)
      }
    }
    this.#isReading = false
  }
}
