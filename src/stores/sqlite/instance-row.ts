import type { Phase, Status } from "../../core/status.ts"
import type { InstanceRow, InstanceState } from "../../ports/journal-store.ts"
import type { SqlRow, SqlValue } from "../../ports/sql-driver.ts"
import { toText } from "./odd-text.ts"
import { integer, optionalInteger, optionalText, text } from "./sql-columns.ts"

/** What `toInstanceRow` reads; `key` as well, for those that go on with the row. */
export const instanceColumns =
  "i.key, i.id, i.incarnation, i.workflow, i.version, i.created_at, i.updated_at, i.tags, i.status, i.phase, i.due_at, i.owner, i.run, i.run_position, i.end_position"

export function toInstanceRow(row: SqlRow): InstanceRow {
  const phase = optionalText(row, "phase")
  const dueAt = optionalInteger(row, "due_at")
  const owner = optionalText(row, "owner")
  const endPosition = optionalInteger(row, "end_position")
  return {
    id: text(row, "id"),
    incarnation: text(row, "incarnation"),
    workflow: text(row, "workflow"),
    version: text(row, "version"),
    createdAt: integer(row, "created_at"),
    tags: fromTags(optionalText(row, "tags")),
    status: text(row, "status") as Status,
    ...(phase === undefined ? {} : { phase: phase as Phase }),
    ...(dueAt === undefined ? {} : { dueAt }),
    ...(owner === undefined ? {} : { owner }),
    run: integer(row, "run"),
    runPosition: integer(row, "run_position"),
    ...(endPosition === undefined ? {} : { endPosition }),
    updatedAt: integer(row, "updated_at"),
  }
}

/** In the order of `stateColumns`. */
export function stateValues(state: InstanceState): SqlValue[] {
  const { status, phase, dueAt, owner, run, runPosition, endPosition } = state
  return [status, phase ?? null, dueAt ?? null, owner === undefined ? null : toText(owner), run, runPosition, endPosition ?? null]
}

export const stateColumns = ["status", "phase", "due_at", "owner", "run", "run_position", "end_position"] as const

/** JSON, which escapes all that text in SQLite cannot hold. */
export function toTags(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : JSON.stringify(tags)
}

export function fromTags(stored: string | undefined): readonly string[] {
  return stored === undefined ? [] : (JSON.parse(stored) as string[])
}
