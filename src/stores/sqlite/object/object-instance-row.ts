import type { InstanceRow } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlRow } from "../../../ports/sql-driver.ts"
import { objectRows } from "./claimable-row.ts"
import { toInstanceRow } from "../tables/instance-row.ts"
import { getOrRead } from "./object-read-cache.ts"

const read = `${objectRows} LIMIT 1`

const table = "perdure_instance"

/** The row of the object's instance. All readers share one statement and its cached result. */
export function readInstanceRow(driver: SqlDriver): SqlRow | undefined {
  return getOrRead(driver, "instance", table, () => driver.prepare(read).get())
}

/** The row of the object's instance, as the type of the port. */
export function typedInstanceRow(driver: SqlDriver): InstanceRow | undefined {
  return getOrRead(driver, "row", table, () => {
    const row = readInstanceRow(driver)
    return row && toInstanceRow(row)
  })
}

/** Caches the row that the caller has just written, so that nobody needs to read the row back. */
export function cacheInstanceRow(driver: SqlDriver, row: InstanceRow): void {
  driver.cache?.set("row", table, row)
}
