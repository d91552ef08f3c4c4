import type { SqlDriver, SqlRow } from "../../ports/sql-driver.ts"
import { instanceColumns } from "./instance-row.ts"
import { recalled } from "./object-memory.ts"

const read = `SELECT ${instanceColumns}, i.claimable_at, i.mail_at FROM perdure_instance i LIMIT 1`

/** The one instance of an object, or one of several. Whoever wants to know anything of it shares one statement, and what it gave. */
export function onlyInstance(driver: SqlDriver): SqlRow | undefined {
  return recalled(driver, "instance", "perdure_instance", () => driver.prepare(read).get())
}
