import type { RowState } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { stateChange, stateValues } from "./instance-row.ts"

/** How many rows one statement changes. */
const batchRowsMax = 20
/** A smaller number of rows is changed by one statement each. */
const batchRowsMin = 4

/**
 * Instances that get an equal state at the same time, as instances do that end or wait together. One statement updates them: preparing a change of a row
 * with many indexes is the costly part.
 */
export class StateUpdateBatch {
  readonly #set: SqlStatement
  readonly #setBatch: SqlStatement
  readonly #keys: number[] = []
  #state: RowState | undefined
  #at = 0

  constructor(driver: SqlDriver) {
    this.#set = driver.prepare(`${stateChange} WHERE key = ?`)
    this.#setBatch = driver.prepare(`${stateChange} WHERE key IN (${Array.from({ length: batchRowsMax }, () => "?").join(", ")})`)
  }

  add(key: number, state: RowState, at: number): void {
    if (this.#keys.length === batchRowsMax || this.#at !== at || !isSameState(this.#state, state)) this.flush()
    this.#state = state
    this.#at = at
    this.#keys.push(key)
  }

  flush(): void {
    const [keys, state] = [this.#keys, this.#state]
    if (state === undefined || keys.length === 0) return
    const values = [...stateValues(state), this.#at]
    if (keys.length < batchRowsMin) for (const key of keys) this.#set.run(...values, key)
    else {
      // The statement has a fixed number of parameters, so one key fills all that are left.
      while (keys.length < batchRowsMax) keys.push(keys[0] as number)
      this.#setBatch.run(...values, ...keys)
    }
    this.clear()
  }

  clear(): void {
    this.#keys.length = 0
  }
}

function isSameState(a: RowState | undefined, b: RowState): boolean {
  const isSameTime = a?.dueAt === b.dueAt && a?.deadlineAt === b.deadlineAt && a?.endPosition === b.endPosition
  return isSameTime && a?.status === b.status && a.phase === b.phase && a.owner === b.owner && a.run === b.run && a.runPosition === b.runPosition
}
