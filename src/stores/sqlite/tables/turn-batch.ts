import type { RowState, Turn } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { JournalRowBatch } from "./journal-row-batch.ts"
import { StateUpdateBatch } from "./state-update-batch.ts"
import type { KnownInstance } from "./instance-keys.ts"
import { isInline } from "./journal-table.ts"

/**
 * Collects the writes of many turns in one transaction, so that one statement can write several rows: starting a statement costs nearly as much as
 * its work. While `run` runs, journal rows and state changes may wait here; all of them are written when `run` ends. Code that reads these rows
 * earlier calls `flush` first. Turns written outside `run` do not pass through the batch.
 */
export class TurnBatch {
  readonly #rows: JournalRowBatch
  readonly #states: StateUpdateBatch
  readonly #firstMessage: SqlStatement
  #isOpen = false
  /** Whether no instance of the database has an unread message; undefined: not known. */
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

  /** Call this before each turn. Writes the waiting state changes if the turn reads instance rows, or changes columns that these changes also set. */
  beforeTurn({ ifQueued, tags, memo }: Turn, { hasLimits, hasUnique }: KnownInstance): void {
    if (hasLimits || hasUnique || ifQueued === true || (tags ?? memo) !== undefined) this.#states.flush()
  }

  /** True if no instance has an unread message, so no inbox needs to be discarded: one query for all turns. False: not known. */
  get hasNoMessages(): boolean {
    if (!this.#isOpen) return false
    this.#hasNoMessages ??= this.#firstMessage.get()?.["seq"] === null
    return this.#hasNoMessages
  }

  /** False if the batch does not take the turn's journal row: then the caller appends the row now. */
  append(key: number, turn: Turn): boolean {
    const takes = this.#isOpen && isInline(turn)
    if (takes) this.#rows.add(key, turn)
    // Journal rows are inserted in the order of their turns.
    else this.#rows.flush()
    return takes
  }

  /** False if the batch does not take the new state: then the caller writes the state now. Only for instances without limits. */
  setState(key: number, state: RowState, at: number): boolean {
    if (this.#isOpen) this.#states.add(key, state, at)
    return this.#isOpen
  }

  /** Writes all that waits. The caller may send messages next, so inboxes count as unknown again. */
  flush(): void {
    this.#hasNoMessages = undefined
    this.#rows.flush()
    this.#states.flush()
  }
}
