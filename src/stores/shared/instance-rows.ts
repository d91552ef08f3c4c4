import type { Phase, Status } from "../../core/journal/status.ts"
import type { FlowTraits, LimitUse, UniqueUse } from "../../ports/flow-control.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import { integer, optionalInteger, optionalText, text, type UntypedRow } from "./columns.ts"

/** The columns of the instance table `i` that `toInstanceRow` reads, and `key`, which callers need. */
export const instanceColumns =
  "i.key, i.id, i.incarnation, i.workflow, i.version, i.created_at, i.updated_at, i.tags, i.status, i.phase, i.due_at, i.owner, i.run, i.run_position, i.end_position, i.priority, i.limits, i.uniques, i.held, i.queued_for, i.deadline_at, i.queue, i.memo, i.events"

/** `inJson` decodes the texts of tags, events and unique keys, for a store whose JSON cannot hold every text. */
export function toInstanceRow(row: UntypedRow, inJson?: (stored: string) => string): InstanceRow {
  const phase = optionalText(row, "phase")
  const dueAt = optionalInteger(row, "due_at")
  const owner = optionalText(row, "owner")
  const endPosition = optionalInteger(row, "end_position")
  const deadlineAt = optionalInteger(row, "deadline_at")
  const flow = toTraits(row, inJson)
  const queue = text(row, "queue")
  const memo = optionalText(row, "memo")
  const events = row["events"]
  return {
    id: text(row, "id"),
    incarnation: text(row, "incarnation"),
    workflow: text(row, "workflow"),
    version: text(row, "version"),
    createdAt: integer(row, "created_at"),
    tags: toTexts(row["tags"], inJson),
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
    ...(typeof events === "string" ? { events: toTexts(events, inJson) } : {}),
    ...(flow === undefined ? {} : { flow }),
    ...(flow?.limits === undefined ? {} : { slots: slotsOf(row, flow.limits) }),
  }
}

function toTraits(row: UntypedRow, inJson: ((stored: string) => string) | undefined): FlowTraits | undefined {
  const priority = integer(row, "priority")
  const limits = row["limits"]
  const uniques = row["uniques"]
  if (priority === 0 && limits === null && uniques === null) return undefined
  return {
    ...(priority === 0 ? {} : { priority }),
    ...(typeof limits === "string" ? { limits: toUses(limits) } : {}),
    ...(typeof uniques === "string" ? { unique: toUniques(uniques, inJson) } : {}),
  }
}

function slotsOf(row: UntypedRow, limits: readonly LimitUse[]): NonNullable<InstanceRow["slots"]> {
  if (row["queued_for"] !== null) return "queuedForSlot"
  return integer(row, "held") === limits.length ? "taken" : "none"
}

/** A list of texts that is stored as JSON; null stands for an empty list. */
function toTexts(stored: unknown, inJson: ((stored: string) => string) | undefined): readonly string[] {
  if (typeof stored !== "string") return []
  const texts = JSON.parse(stored) as string[]
  return inJson ? texts.map(inJson) : texts
}

export function toUses(stored: string): readonly LimitUse[] {
  return JSON.parse(stored) as LimitUse[]
}

export function toUniques(stored: string | undefined, inJson?: (stored: string) => string): readonly UniqueUse[] {
  if (stored === undefined) return []
  const uniques = JSON.parse(stored) as UniqueUse[]
  return inJson ? uniques.map(({ kind, key }) => ({ kind, key: inJson(key) })) : uniques
}
