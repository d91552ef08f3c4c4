import type { SqlDriver } from "../../../ports/sql-driver.ts"

/** Each kind of object has a table that only this kind has, from its first write on. */
const kindOfTable = [
  ["perdure_limit_member", "limit"],
  ["perdure_limit_override", "limit-settings"],
  ["perdure_order_index", "schedule"],
  ["perdure_index_entry", "shard"],
  ["perdure_task_sender", "task-queue"],
] as const

/** The kind of an object by its tables. An alarm may come without the object's name, which tells the kind otherwise. */
export function kindFromTables(driver: SqlDriver): "instance" | "limit" | "limit-settings" | "schedule" | "shard" | "task-queue" {
  const names = new Set(
    driver
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`)
      .all()
      .map((row) => row["name"]),
  )
  return kindOfTable.find(([table]) => names.has(table))?.[1] ?? "instance"
}
