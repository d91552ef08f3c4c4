import { defaultQueue } from "../../../core/workflow/task-queue.ts"
import type { FlowTraits } from "../../../ports/flow-control.ts"
import type { RowState } from "../../../ports/journal-store.ts"
import type { SqlValue } from "../../../ports/sql-driver.ts"
import { textOrNull, toText } from "../../shared/unsafe-text.ts"

export { instanceColumns, toInstanceRow } from "../../shared/instance-rows.ts"

/** In the order of `traitColumns`. The fairness key (`lane`) is the key of the narrowest limit, which comes first. */
export function traitValues({ priority = 0, limits = [], unique = [] }: FlowTraits): SqlValue[] {
  const [first] = limits
  return [
    priority,
    limits.length === 0 ? null : JSON.stringify(limits),
    unique.length === 0 ? null : JSON.stringify(unique),
    first?.isKeyed ? toText(first.key) : null,
  ]
}

export const traitColumns = ["priority", "limits", "uniques", "lane"] as const

/** In the order of `stateColumns`. */
export function stateValues(state: RowState): SqlValue[] {
  const { status, phase, dueAt, owner, run, runPosition, endPosition, deadlineAt } = state
  return [status, phase ?? null, dueAt ?? null, textOrNull(owner), run, runPosition, endPosition ?? null, deadlineAt ?? null]
}

export const stateColumns = ["status", "phase", "due_at", "owner", "run", "run_position", "end_position", "deadline_at"] as const

/** Its parameters are the values of the state, and the time of the change. */
export const stateChange = `UPDATE perdure_instance SET ${stateColumns.join(" = ?, ")} = ?, updated_at = ?, crashed = 0`

/** The default queue, which most instances have, is stored as the empty text. */
export function toQueue(queue: string = defaultQueue): string {
  return queue === defaultQueue ? "" : toText(queue)
}

/** JSON escapes the characters that SQLite text cannot hold. */
export function toTags(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : JSON.stringify(tags)
}

/** The declared events as JSON; null if the workflow declares none. */
export function toEvents(events: readonly string[] | undefined): string | null {
  return events === undefined ? null : JSON.stringify(events)
}

export function fromEvents(stored: SqlValue | undefined): readonly string[] | undefined {
  return typeof stored === "string" ? (JSON.parse(stored) as string[]) : undefined
}

export function fromTags(stored: string | undefined): readonly string[] {
  return stored === undefined ? [] : (JSON.parse(stored) as string[])
}
