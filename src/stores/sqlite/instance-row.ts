import type { Phase, Status } from "../../core/status.ts"
import { defaultQueue } from "../../core/task-queue.ts"
import type { FlowTraits, LimitUse, UniqueUse } from "../../ports/flow-control.ts"
import type { InstanceRow, InstanceState } from "../../ports/journal-store.ts"
import type { SqlRow, SqlValue } from "../../ports/sql-driver.ts"
import { toText } from "../odd-text.ts"
import { integer, optionalInteger, optionalText, text } from "./sql-columns.ts"

/** What `toInstanceRow` reads; `key` as well, for those that go on with the row. */
export const instanceColumns =
  "i.key, i.id, i.incarnation, i.workflow, i.version, i.created_at, i.updated_at, i.tags, i.status, i.phase, i.due_at, i.owner, i.run, i.run_position, i.end_position, i.priority, i.limits, i.uniques, i.held, i.parked_on, i.deadline_at, i.queue, i.memo"

export function toInstanceRow(row: SqlRow): InstanceRow {
  const phase = optionalText(row, "phase")
  const dueAt = optionalInteger(row, "due_at")
  const owner = optionalText(row, "owner")
  const endPosition = optionalInteger(row, "end_position")
  const deadlineAt = optionalInteger(row, "deadline_at")
  const flow = toTraits(row)
  const queue = text(row, "queue")
  const memo = optionalText(row, "memo")
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
    ...(deadlineAt === undefined ? {} : { deadlineAt }),
    ...(owner === undefined ? {} : { owner }),
    run: integer(row, "run"),
    runPosition: integer(row, "run_position"),
    ...(endPosition === undefined ? {} : { endPosition }),
    updatedAt: integer(row, "updated_at"),
    ...(queue === "" ? {} : { queue }),
    ...(memo === undefined ? {} : { memo }),
    ...(flow === undefined ? {} : { flow }),
    ...(flow?.limits === undefined ? {} : { slots: slotsOf(row, flow.limits) }),
  }
}

function toTraits(row: SqlRow): FlowTraits | undefined {
  const priority = integer(row, "priority")
  const limits = optionalText(row, "limits")
  const uniques = optionalText(row, "uniques")
  if (priority === 0 && limits === undefined && uniques === undefined) return undefined
  return {
    ...(priority === 0 ? {} : { priority }),
    ...(limits === undefined ? {} : { limits: toUses(limits) }),
    ...(uniques === undefined ? {} : { unique: toUniques(uniques) }),
  }
}

function slotsOf(row: SqlRow, limits: readonly LimitUse[]): NonNullable<InstanceRow["slots"]> {
  if (row["parked_on"] !== null) return "parked"
  return integer(row, "held") === limits.length ? "taken" : "none"
}

export function toUses(stored: string): readonly LimitUse[] {
  return JSON.parse(stored) as LimitUse[]
}

export function toUniques(stored: string | undefined): readonly UniqueUse[] {
  return stored === undefined ? [] : (JSON.parse(stored) as UniqueUse[])
}

/** In the order of `traitColumns`. The key of the narrowest limit is the lane. */
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
export function stateValues(state: InstanceState): SqlValue[] {
  const { status, phase, dueAt, owner, run, runPosition, endPosition } = state
  return [status, phase ?? null, dueAt ?? null, owner === undefined ? null : toText(owner), run, runPosition, endPosition ?? null]
}

/** Only instances with limits have a deadline, which is apart. */
export const stateColumns = ["status", "phase", "due_at", "owner", "run", "run_position", "end_position"] as const

/** The default one, which is that of most, is empty. */
export function toQueue(queue: string = defaultQueue): string {
  return queue === defaultQueue ? "" : toText(queue)
}

/** JSON, which escapes all that text in SQLite cannot hold. */
export function toTags(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : JSON.stringify(tags)
}

export function fromTags(stored: string | undefined): readonly string[] {
  return stored === undefined ? [] : (JSON.parse(stored) as string[])
}
