import type { Sql } from "../../core/workflow/transaction-sql.ts"
import type { Logger } from "../../ports/host.ts"
import type { JournalStore, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { Transactions } from "../../ports/transactions.ts"
import type { CommitListener, CommitResult, Committer } from "./group-committer.ts"

/** Writes the turns in a Durable Object, one after the other: with one instance there is nothing to batch. */
export class SingleInstanceCommitter implements Committer {
  onWritten: () => void = () => undefined
  readonly #journal: JournalStore
  readonly #schedule: () => void
  readonly #log: Logger
  readonly #isRemote: (id: string) => boolean
  readonly #queue: { readonly turn: Turn; readonly listener: CommitListener }[] = []
  #isWriting = false
  #isAbandoned = false

  constructor(journal: JournalStore, schedule: () => void, log: Logger, isRemote: (id: string) => boolean) {
    this.#journal = journal
    this.#schedule = schedule
    this.#log = log
    this.#isRemote = isRemote
  }

  submit(turn: Turn, listener: CommitListener): void {
    if (this.#isAbandoned) return
    // A write to another object must not delay the turns of this one.
    if (this.#isRemote(turn.instance)) return void this.#write(turn, listener)
    this.#queue.push({ turn, listener })
    if (!this.#isWriting) this.#schedule()
  }

  flush(): void {
    const next = this.#isWriting ? undefined : this.#queue.shift()
    if (next === undefined) return
    this.#isWriting = true
    void this.#write(next.turn, next.listener).then(() => {
      this.#isWriting = false
      if (this.#queue.length > 0) this.#schedule()
    })
  }

  transact(transactions: Transactions, run: (sql: Sql) => Turn): Promise<TurnOutcome> {
    return this.writeAlone(() => transactions.transact(run))
  }

  async writeAlone<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } finally {
      this.onWritten()
    }
  }

  abandon(): void {
    this.#queue.length = 0
    this.#isAbandoned = true
  }

  async #write(turn: Turn, listener: CommitListener): Promise<void> {
    let result: CommitResult
    try {
      const [outcome = "lost"] = await this.#journal.commit([turn])
      result = outcome
    } catch (error) {
      result = { error }
    }
    this.onWritten()
    try {
      listener.onResult(result)
    } catch (error) {
      this.#log.error(`the reaction of instance "${turn.instance}" to the result of its turn failed`, { instance: turn.instance, error })
    }
  }
}
