import { PerdureError } from "../../core/errors.ts"
import type { Logger } from "../../ports/host.ts"
import type { Sql } from "../../core/workflow/transaction-sql.ts"
import type { JournalStore, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { Transactions } from "../../ports/transactions.ts"

/** What became of a turn; an error means that it is not known to be written. `unsent`: it never will be. */
export type CommitResult = TurnOutcome | { readonly error: unknown; readonly unsent?: true }

/** Where turns go to be written. */
export interface Committer {
  /** Called when something was written, or may have been. */
  onWritten: () => void
  /** The listener is told once, after the transaction. */
  submit(turn: Turn, listener: CommitListener): void
  /** Writes what has gathered. */
  flush(): void
  /** Writes one turn in a transaction of its own, with what `run` writes there. */
  transact(transactions: Transactions, run: (sql: Sql) => Turn): Promise<TurnOutcome>
  /** A write of one turn that is not part of any batch. */
  writeAlone<T>(write: () => Promise<T>): Promise<T>
  /** Forgets what has gathered: it was never promised to anybody. */
  abandon(): void
}

/** Where several batches may be under way: a further one is sent when so many turns have gathered, */
const sharedBatchMin = 32
/** and has no more than so many. */
const sharedBatchMax = 256
/** Where one is under way at a time: such a store may write it without letting anybody else in. */
const batchMax = 512

/**
 * Group commit. Turns of all instances that are ready go into one transaction; while it is being written, the next one
 * gathers. An instance has at most one turn here at a time. A batch that errors is split until the culprit stands alone.
 * A store that is elsewhere works on several batches at once, if they are worth it: few turns wait for company instead.
 */
export class GroupCommitter implements Committer {
  readonly #journal: JournalStore
  readonly #schedule: () => void
  readonly #log: Logger
  readonly #isRemote: (id: string) => boolean
  #pending = new Batch([], [])
  /** Batches, and the turns of all of them, that are being written. */
  #batches = 0
  #writing = 0
  #aloneWrites = 0
  #isAbandoned = false
  #onIdle: (() => void)[] = []
  onWritten: () => void = () => undefined
  /** For metrics and tests: how many transactions and turns were written. */
  commits = 0
  turns = 0

  /** How many batches may be under way. */
  readonly batchesMax: number

  /** `isElsewhere`: another store writes the turns of that instance. */
  constructor(journal: JournalStore, schedule: () => void, log: Logger, isRemote: (id: string) => boolean = () => false, batchesMax = 1) {
    this.#journal = journal
    this.#schedule = schedule
    this.#log = log
    this.#isRemote = isRemote
    this.batchesMax = batchesMax
  }

  get idle(): boolean {
    return this.underWay === 0 && this.#aloneWrites === 0
  }

  /** Turns that have gathered or are being written. */
  get underWay(): number {
    return this.#pending.size + this.#writing
  }

  /** Resolves when all that has gathered is written. */
  whenIdle(): Promise<void> {
    return this.idle ? Promise.resolve() : new Promise((resolve) => this.#onIdle.push(resolve))
  }

  submit(turn: Turn, listener: CommitListener): void {
    if (this.#isAbandoned) return
    // What is far away must not hold up what is here.
    if (this.#isRemote(turn.instance)) return void this.#write(new Batch([turn], [listener]))
    this.#pending.turns.push(turn)
    this.#pending.listeners.push(listener)
    if (this.#mayWrite) this.#schedule()
  }

  get #mayWrite(): boolean {
    return this.#batches === 0 || (this.#batches < this.batchesMax && this.#pending.size >= sharedBatchMin)
  }

  async transact(transactions: Transactions, run: (sql: Sql) => Turn): Promise<TurnOutcome> {
    return this.writeAlone(() => transactions.transact(run))
  }

  async writeAlone<T>(write: () => Promise<T>): Promise<T> {
    this.#aloneWrites++
    try {
      const outcome = await write()
      this.commits++
      this.turns++
      return outcome
    } finally {
      this.#aloneWrites--
      this.onWritten()
      this.#notifyIdle()
    }
  }

  abandon(): void {
    this.#pending = new Batch([], [])
    this.#isAbandoned = true
  }

  /** Writes what has gathered, unless as many writes as may be are under way: then it goes next. */
  flush(): void {
    while (this.#pending.size > 0 && this.#mayWrite) {
      const batch = this.#takeBatch()
      this.#batches++
      this.#writing += batch.size
      void this.#write(batch).then(() => {
        this.#batches--
        this.#writing -= batch.size
        if (this.#pending.size > 0) return this.#mayWrite && this.#schedule()
        this.#notifyIdle()
      })
    }
  }

  #takeBatch(): Batch {
    const all = this.#pending
    const sizeMax = this.batchesMax === 1 ? batchMax : sharedBatchMax
    const isWhole = all.size <= sizeMax
    this.#pending = isWhole ? new Batch([], []) : all.slice(sizeMax, all.size)
    return isWhole ? all : all.slice(0, sizeMax)
  }

  #notifyIdle(): void {
    if (this.idle) for (const tell of this.#onIdle.splice(0)) tell()
  }

  async #write(batch: Batch): Promise<void> {
    let outcomes: readonly TurnOutcome[]
    try {
      outcomes = await this.#journal.commit(batch.turns)
      this.commits++
      this.turns += batch.size
    } catch (error) {
      if (batch.size === 1 || isStoreFailure(error)) {
        this.onWritten()
        for (let at = 0; at < batch.size; at++) this.#report(batch, at, { error })
        return
      }
      const middle = batch.size >> 1
      await this.#write(batch.slice(0, middle))
      return this.#write(batch.slice(middle, batch.size))
    }
    this.onWritten()
    for (let at = 0; at < batch.size; at++) this.#report(batch, at, outcomes[at] ?? { error: new Error("the store answered too few outcomes") })
  }

  /** A flaw in what one instance makes of it must not hold up the others of the batch, nor the next batch. */
  #report({ turns, listeners }: Batch, at: number, result: CommitResult): void {
    try {
      listeners[at]?.onResult(result)
    } catch (error) {
      const instance = turns[at]?.instance
      this.#log.error(`what follows a turn of instance "${instance}" failed`, { instance, error })
    }
  }
}

/** The store as a whole is away, gone or locked: to write the turns one by one would only fail, or wait, as often. */
function isStoreFailure(error: unknown): boolean {
  return PerdureError.is(error, "STORE_UNREACHABLE") || PerdureError.is(error, "DATABASE_GONE") || PerdureError.is(error, "DATABASE_BUSY")
}

export interface CommitListener {
  onResult(result: CommitResult): void
}

/** Turns, and at the same places who is told of them: the turns go to the store as they are. */
class Batch {
  readonly turns: Turn[]
  readonly listeners: CommitListener[]

  constructor(turns: Turn[], listeners: CommitListener[]) {
    this.turns = turns
    this.listeners = listeners
  }

  get size(): number {
    return this.turns.length
  }

  slice(from: number, to: number): Batch {
    return new Batch(this.turns.slice(from, to), this.listeners.slice(from, to))
  }
}
