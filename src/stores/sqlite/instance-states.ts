import type { InstanceState } from "../../ports/journal-store.ts"
import type { SqlDriver, SqlStatement } from "../../ports/sql-driver.ts"
import { stateColumns, stateValues } from "./instance-row.ts"

const assignments = [...stateColumns, "updated_at"].map((column) => `${column} = ?`).join(", ")

/** Sets instances to the state that `stateValues` and the time of the change say. */
export const stateChange = `UPDATE perdure_instance SET ${assignments}, crashed = 0`

/** What turns make of the states of instances without limits. */
export class InstanceStates {
  readonly #set: SqlStatement

  constructor(driver: SqlDriver) {
    this.#set = driver.prepare(`${stateChange} WHERE key = ?`)
  }

  set(key: number, state: InstanceState, at: number): void {
    this.#set.run(...stateValues(state), at, key)
  }

  /** Runs `write`, which sets several. Inside, `flush` is to be called before a state is looked at. */
  together<T>(write: () => T): T {
    return write()
  }

  flush(): void {}
}
