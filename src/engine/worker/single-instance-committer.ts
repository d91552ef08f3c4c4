import type { Sql } from "../../core/workflow/transaction-sql.ts"
import type { Logger } from "../../ports/host.ts"
import type { JournalStore, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { Transactions } from "../../ports/transactions.ts"
import type { CommitListener, CommitResult, Commits } from "./group-committer.ts"

/** Where one instance writes, there is nothing to gather: one turn after the other. */
export class SingleInstanceCommitter implements Commits {
  onWritten: () => void = () => undefined
  readonly #journal: JournalStore
  readonly #arm: () => void
  readonly #log: Logger
  readonly #isElsewhere: (id: string) => boolean
  readonly #line: { readonly turn: Turn; readonly listener: CommitListener }[] = []
  #isWriting = false
  #isAbandoned = false

  constructor(journal: JournalStore, arm: () => void, log: Logger, isElsewhere: (id: string) => boolean) {
    this.#journal = journal
    this.#arm = arm
    this.#log = log
    this.#isElsewhere = isElsewhere
  }

  submit(turn: Turn, listener: CommitListener): void {
    if (this.#isAbandoned) return
    // What is far away must not hold up what is here.
    if (this.#isElsewhere(turn.instance)) return void this.#write(turn, listener)
    this.#line.push({ turn, listener })
    if (!this.#isWriting) this.#arm()
  }

  flush(): void {
    const next = this.#isWriting ? undefined : this.#line.shift()
    if (next === undefined) return
    this.#isWriting = true
    void this.#write(next.turn, next.listener).then(() => {
      this.#isWriting = false
      if (this.#line.length > 0) this.#arm()
    })
  }

  transact(transactions: Transactions, run: (sql: Sql) => Turn): Promise<TurnOutcome> {
    return this.alone(() => transactions.transact(run))
  }

  async alone<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } finally {
      this.onWritten()
    }
  }

  abandon(): void {
    this.#line.length = 0
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
      this.#log.error(`what follows a turn of instance "${turn.instance}" failed`, { instance: turn.instance, error })
    }
  }
}
