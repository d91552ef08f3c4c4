import type { InstanceState } from "../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement } from "../../ports/sql-driver.ts"
import { stateValues } from "./instance-row.ts"
import { InstanceStates, stateChange } from "./instance-states.ts"

/** So many rows are changed by one statement. */
const groupMax = 20
/** Fewer are changed one by one. */
const groupMin = 4

/**
 * The states of many instances: those that come to the same state at the same time, as many do that end or wait together, are changed by one
 * statement. It would spend half of its time on getting ready to change the many indexes of one row.
 */
export class GroupedInstanceStates extends InstanceStates {
  readonly #setGroup: SqlStatement
  /** Those that are to come to the state; undefined: rows do not wait. */
  #keys: number[] | undefined
  #state: InstanceState | undefined
  #at = 0

  constructor(driver: SqlDriver) {
    super(driver)
    this.#setGroup = driver.prepare(`${stateChange} WHERE key IN (${Array.from({ length: groupMax }, () => "?").join(", ")})`)
  }

  override together<T>(write: () => T): T {
    this.#keys = []
    try {
      const result = write()
      this.flush()
      return result
    } finally {
      this.#keys = undefined
    }
  }

  override set(key: number, state: InstanceState, at: number): void {
    const keys = this.#keys
    if (keys === undefined) return super.set(key, state, at)
    if (keys.length === groupMax || this.#at !== at || !isSameState(this.#state, state)) this.flush()
    this.#state = state
    this.#at = at
    keys.push(key)
  }

  override flush(): void {
    const [keys, state] = [this.#keys, this.#state]
    if (keys === undefined || state === undefined) return
    if (keys.length < groupMin) for (const key of keys) super.set(key, state, this.#at)
    else {
      // The statement has a fixed number of places: one key takes all that are left.
      while (keys.length < groupMax) keys.push(keys[0] as number)
      this.#setGroup.run(...stateValues(state), this.#at, ...keys)
    }
    keys.length = 0
  }
}

function isSameState(a: InstanceState | undefined, b: InstanceState): boolean {
  return (
    a?.status === b.status &&
    a.phase === b.phase &&
    a.dueAt === b.dueAt &&
    a.owner === b.owner &&
    a.run === b.run &&
    a.runPosition === b.runPosition &&
    a.endPosition === b.endPosition
  )
}
