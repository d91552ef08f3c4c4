import type { InstanceRow } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlRow } from "../../../ports/sql-driver.ts"
import { objectRows } from "./claimable-row.ts"
import { toInstanceRow } from "../tables/instance-row.ts"
import { recalled } from "./object-read-cache.ts"

const read = `${objectRows} LIMIT 1`

/** The one instance of an object, or one of several. Whoever wants to know anything of it shares one statement, and what it gave. */
export function readInstanceRow(driver: SqlDriver): SqlRow | undefined {
  return recalled(driver, "instance", "perdure_instance", () => driver.prepare(read).get())
}

/** The same as the engine knows it. `written`: it was just written so. */
export function onlyInstanceRow(driver: SqlDriver, written?: InstanceRow): InstanceRow | undefined {
  return recalled(driver, "row", "perdure_instance", () => {
    const row = written === undefined ? readInstanceRow(driver) : undefined
    return row === undefined ? written : toInstanceRow(row)
  })
}
