import type { RowState, Turn } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { JournalRowBatch } from "./journal-row-batch.ts"
import { StateUpdateBatch } from "./state-update-batch.ts"
import type { KnownInstance } from "./instance-keys.ts"
import { isInline } from "./journal-table.ts"

/**
 * Turns of many instances that are written in one transaction: while `together` runs, what they do to the journal and to the rows of their
 * instances waits until one statement can do it for several, as getting a statement to run costs nearly as much as what it does. All of it is done when
 * `together` ends; `flush` is for whoever wants to look earlier. Other turns are none of its business.
 */
export class TurnBatch {
  readonly #rows: JournalRowBatch
  readonly #states: StateUpdateBatch
  readonly #firstMessage: SqlStatement
  #isOpen = false
  /** Whether nobody at all has a message; undefined: it was not looked, or is not known any more. */
  #hasNoMessages: boolean | undefined

  constructor(driver: SqlDriver) {
    this.#rows = new JournalRowBatch(driver)
    this.#states = new StateUpdateBatch(driver)
    this.#firstMessage = driver.prepare(`SELECT min(seq) AS seq FROM perdure_inbox`)
  }

  run<T>(write: () => T): T {
    this.#isOpen = true
    this.#hasNoMessages = undefined
    try {
      const result = write()
      this.flush()
      return result
    } finally {
      this.#isOpen = false
      this.#rows.clear()
      this.#states.clear()
    }
  }

  /** A turn is about to be written: it may look at what those before it made of their instances, or has to come after that. */
  beforeTurn({ ifQueued, tags, memo }: Turn, { hasLimits, hasUnique }: KnownInstance): void {
    if (hasLimits || hasUnique || ifQueued === true || (tags ?? memo) !== undefined) this.#states.flush()
  }

  /** Nobody has a message that would have to be discarded: one look for all turns. False: it is not known. */
  get hasNoMessages(): boolean {
    if (!this.#isOpen) return false
    this.#hasNoMessages ??= this.#firstMessage.get()?.["seq"] === null
    return this.#hasNoMessages
  }

  /** False: it is to be appended in another way, now. */
  append(key: number, turn: Turn): boolean {
    const takes = this.#isOpen && isInline(turn)
    if (takes) this.#rows.add(key, turn)
    // Rows keep their order.
    else this.#rows.flush()
    return takes
  }

  /** The same of the state of an instance without limits. */
  setState(key: number, state: RowState, at: number): boolean {
    if (this.#isOpen) this.#states.add(key, state, at)
    return this.#isOpen
  }

  /** Whoever calls this may also send messages. */
  flush(): void {
    this.#hasNoMessages = undefined
    this.#rows.flush()
    this.#states.flush()
  }
}
