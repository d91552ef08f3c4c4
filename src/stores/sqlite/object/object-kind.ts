import type { SqlDriver } from "../../../ports/sql-driver.ts"

/** Tables that only objects of a kind have, from their first write on. */
const kindOfTable = [
  ["perdure_limit_member", "limit"],
  ["perdure_limit_override", "limit-settings"],
  ["perdure_order_index", "schedule"],
  ["perdure_index_entry", "shard"],
] as const

/** What an object is by what it has written, where the platform does not tell its name: an alarm may come without one. */
export function kindFromTables(driver: SqlDriver): "instance" | "limit" | "limit-settings" | "schedule" | "shard" {
  const names = new Set(
    driver
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`)
      .all()
      .map((row) => row["name"]),
  )
  return kindOfTable.find(([table]) => names.has(table))?.[1] ?? "instance"
}
