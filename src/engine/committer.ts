import type { Logger } from "../ports/host.ts"
import type { JournalStore, Turn, TurnOutcome } from "../ports/journal-store.ts"

/** What became of a turn; an error means that it is not known to be written. */
export type CommitResult = TurnOutcome | { readonly error: unknown }

/**
 * Group commit. Turns of all instances that are ready go into one transaction; while it is being written, the next one
 * gathers. An instance has at most one turn here at a time. A batch that errors is split until the culprit stands alone.
 */
export class Committer {
  readonly #journal: JournalStore
  readonly #arm: () => void
  readonly #log: Logger
  #gathering: Submitted[] = []
  #writing = false
  #abandoned = false
  #onIdle: (() => void)[] = []
  /** For metrics and tests: how many transactions and turns were written. */
  commits = 0
  turns = 0

  constructor(journal: JournalStore, arm: () => void, log: Logger) {
    this.#journal = journal
    this.#arm = arm
    this.#log = log
  }

  get idle(): boolean {
    return !this.#writing && this.#gathering.length === 0
  }

  /** Resolves when all that has gathered is written. */
  whenIdle(): Promise<void> {
    return this.idle ? Promise.resolve() : new Promise((resolve) => this.#onIdle.push(resolve))
  }

  /** `done` is called once, after the transaction. */
  submit(turn: Turn, done: (result: CommitResult) => void): void {
    if (this.#abandoned) return
    this.#gathering.push({ turn, done })
    if (!this.#writing) this.#arm()
  }

  /** Forgets what has gathered: it was never promised to anybody. */
  abandon(): void {
    this.#gathering = []
    this.#abandoned = true
  }

  /** Writes what has gathered, unless a write is under way: then it goes next. */
  flush(): void {
    if (this.#writing || this.#gathering.length === 0) return
    const batch = this.#gathering
    this.#gathering = []
    this.#writing = true
    void this.#write(batch).then(() => {
      this.#writing = false
      if (this.#gathering.length > 0) return this.#arm()
      for (const tell of this.#onIdle.splice(0)) tell()
    })
  }

  async #write(batch: readonly Submitted[]): Promise<void> {
    let outcomes: readonly TurnOutcome[]
    try {
      outcomes = await this.#journal.commit(batch.map(({ turn }) => turn))
      this.commits++
      this.turns += batch.length
    } catch (error) {
      if (batch.length === 1) return this.#tell(batch[0], { error })
      const middle = batch.length >> 1
      await this.#write(batch.slice(0, middle))
      return this.#write(batch.slice(middle))
    }
    batch.forEach((submitted, index) => this.#tell(submitted, outcomes[index] ?? { error: new Error("the store answered too few outcomes") }))
  }

  /** A flaw in what one instance makes of it must not hold up the others of the batch, nor the next batch. */
  #tell(submitted: Submitted | undefined, result: CommitResult): void {
    try {
      submitted?.done(result)
    } catch (error) {
      this.#log.error(`what follows a turn of instance "${submitted?.turn.instance}" failed`, { instance: submitted?.turn.instance, error })
    }
  }
}

interface Submitted {
  readonly turn: Turn
  readonly done: (result: CommitResult) => void
}
