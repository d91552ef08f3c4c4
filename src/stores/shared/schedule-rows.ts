import type { ScheduleRow } from "../../ports/schedule-store.ts"
import { integer, optionalInteger, optionalText, text, type UntypedRow } from "./columns.ts"

export function toScheduleRow(row: UntypedRow): ScheduleRow {
  const dueAt = optionalInteger(row, "due_at")
  const awaits = optionalText(row, "awaits")
  return {
    id: text(row, "id"),
    incarnation: text(row, "incarnation"),
    revision: integer(row, "revision"),
    workflow: text(row, "workflow"),
    createdAt: integer(row, "created_at"),
    updatedAt: integer(row, "updated_at"),
    ...(dueAt === undefined ? undefined : { dueAt }),
    ...(awaits === undefined ? undefined : { awaits }),
    state: text(row, "state"),
  }
}
