import { PerdureError } from "../../core/errors.ts"
import type { Logger } from "../../ports/host.ts"
import type { Sql } from "../../core/workflow/transaction-sql.ts"
import type { JournalStore, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { Transactions } from "../../ports/transactions.ts"

/** The result of a turn. With an error it is not known whether the store has written the turn. `unsent`: the turn was never sent to the store. */
export type CommitResult = TurnOutcome | { readonly error: unknown; readonly unsent?: true }

/** Writes the turns of a worker: `GroupCommitter`, or `SingleInstanceCommitter` in a Durable Object. */
export interface Committer {
  /** Called after each write, also after one that failed: it may have written something. */
  onWritten: () => void
  /** Queues a turn. The listener gets the result once, after the transaction. */
  submit(turn: Turn, listener: CommitListener): void
  /** Writes the queued turns. */
  flush(): void
  /** Writes one turn in a transaction of its own, together with what `run` writes there. */
  transact(transactions: Transactions, run: (sql: Sql) => Turn): Promise<TurnOutcome>
  /** Runs a write of one turn that is not part of a batch. */
  writeAlone<T>(write: () => Promise<T>): Promise<T>
  /** Drops the queued turns. Nobody was told that they are durable, so nothing is lost but work. */
  abandon(): void
}

/** With several concurrent batches, a further batch is sent as soon as this many turns are queued, */
const sharedBatchMin = 32
/** and a batch has at most this many turns. */
const sharedBatchMax = 256
/** The largest batch of a store that writes one batch at a time. Such a store may block the process while it writes. */
const batchMax = 512

/**
 * Group commit. One transaction writes the turns of many instances, so that a thousand instances do not need a thousand commits.
 *
 *   submit    queues a turn, and schedules a run of the `MacrotaskQueue`
 *   flush     called after each run of that queue: sends the queued turns to the store as one batch
 *
 * While the store writes a batch, new turns queue up for the next one. `TurnWriter` submits one turn of an instance at a time, and waits for its result.
 * So the order of an instance's turns does not depend on the order of batches.
 *
 * If a batch fails, each half of it is sent again, down to single turns. So a turn that the store cannot write does not fail the others. That is safe,
 * because a turn has an id: a turn that the failed batch did write is answered with `committed` and is not written twice.
 *
 * A store on another machine works on up to `batchesMax` batches at once. A further batch is only sent if it has `sharedBatchMin` turns: fewer turns
 * wait for the current batch to end.
 */
export class GroupCommitter implements Committer {
  readonly #journal: JournalStore
  readonly #schedule: () => void
  readonly #log: Logger
  readonly #isRemote: (id: string) => boolean
  #pending = new Batch([], [])
  /** How many batches, and how many turns in them, are being written. */
  #batches = 0
  #writing = 0
  #aloneWrites = 0
  #isAbandoned = false
  #onIdle: (() => void)[] = []
  onWritten: () => void = () => undefined
  /** For metrics and tests: how many transactions and turns were written. */
  commits = 0
  turns = 0

  /** How many batches may be written at the same time. */
  readonly batchesMax: number

  /** `isRemote`: another store writes the turns of that instance. */
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

  /** How many turns are queued or being written. */
  get underWay(): number {
    return this.#pending.size + this.#writing
  }

  /** Resolves when all queued turns are written. */
  whenIdle(): Promise<void> {
    return this.idle ? Promise.resolve() : new Promise((resolve) => this.#onIdle.push(resolve))
  }

  submit(turn: Turn, listener: CommitListener): void {
    if (this.#isAbandoned) return
    // A write to another machine must not delay the turns of this store.
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

  /** Sends the queued turns, unless the store is busy with as many batches as allowed: then they go into the next batch. */
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

  /** A bug in the reaction of one instance must affect neither the other instances of the batch nor the next batch. */
  #report({ turns, listeners }: Batch, at: number, result: CommitResult): void {
    try {
      listeners[at]?.onResult(result)
    } catch (error) {
      const instance = turns[at]?.instance
      this.#log.error(`the reaction of instance "${instance}" to the result of its turn failed`, { instance, error })
    }
  }
}

/** The whole store is unreachable, gone or locked: single turns would fail, or wait, in the same way. */
function isStoreFailure(error: unknown): boolean {
  return PerdureError.is(error, "STORE_UNREACHABLE") || PerdureError.is(error, "DATABASE_GONE") || PerdureError.is(error, "DATABASE_BUSY")
}

export interface CommitListener {
  onResult(result: CommitResult): void
}

/** Turns and their listeners, in two arrays with the same indexes: the store gets the array of turns as it is. */
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
