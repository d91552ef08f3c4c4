import type { Phase, Status } from "../../core/status.ts"
import { defaultQueue } from "../../core/task-queue.ts"
import type { FlowTraits, LimitUse, UniqueUse } from "../../ports/flow-control.ts"
import type { InstanceRow, InstanceState, NewInstance } from "../../ports/journal-store.ts"
import { fromText, toText } from "../odd-text.ts"
import { integer, optionalInteger, optionalText, text } from "./columns.ts"
import type { PgRow } from "./database.ts"

/** What `toInstanceRow` reads; `key` as well, for those that go on with the row. */
export const instanceColumns = `i.key, i.id, i.incarnation, i.workflow, i.version, i.created_at, i.updated_at, i.tags, i.status, i.phase, i.due_at, i.owner, i.run,
  i.run_position, i.end_position, i.priority, i.limits, i.uniques, i.held, i.parked_on, i.deadline_at, i.queue, i.memo`

export function toInstanceRow(row: PgRow): InstanceRow {
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
    tags: toTags(row["tags"]),
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

function toTraits(row: PgRow): FlowTraits | undefined {
  const priority = integer(row, "priority")
  const limits = row["limits"]
  const uniques = row["uniques"]
  if (priority === 0 && limits === null && uniques === null) return undefined
  return {
    ...(priority === 0 ? {} : { priority }),
    ...(typeof limits === "string" ? { limits: toUses(limits) } : {}),
    ...(typeof uniques === "string" ? { unique: toUniques(uniques) } : {}),
  }
}

function slotsOf(row: PgRow, limits: readonly LimitUse[]): NonNullable<InstanceRow["slots"]> {
  if (row["parked_on"] !== null) return "parked"
  return integer(row, "held") === limits.length ? "taken" : "none"
}

function toTags(stored: unknown): readonly string[] {
  return typeof stored === "string" ? (JSON.parse(stored) as string[]).map(fromText) : []
}

export function toUses(stored: string): readonly LimitUse[] {
  return JSON.parse(stored) as LimitUse[]
}

function toUniques(stored: string): readonly UniqueUse[] {
  return (JSON.parse(stored) as UniqueUse[]).map(({ kind, key }) => ({ kind, key: fromText(key) }))
}

/** The columns of the traits, as JSON gives them to the functions. The key of the narrowest limit is the lane. */
export function traitColumns({ priority = 0, limits = [], unique = [] }: FlowTraits) {
  const [first] = limits
  return {
    priority,
    ...(limits.length === 0 ? {} : { limits: JSON.stringify(limits) }),
    ...(unique.length === 0 ? {} : { uniques: JSON.stringify(unique.map(({ kind, key }) => ({ kind, key: toText(key) }))) }),
    ...(first?.isKeyed ? { lane: toText(first.key) } : {}),
  }
}

/** The default one, which is that of most, is empty. */
export function toQueue(queue: string): string {
  return queue === defaultQueue ? "" : toText(queue)
}

/** What `create_instance` reads. */
export function creationColumns({ id, incarnation, workflow, version, createdAt, tags, queue, flow }: NewInstance) {
  const tagList = tags.map(toText)
  return {
    id: toText(id),
    incarnation: toText(incarnation),
    workflow: toText(workflow),
    version: toText(version),
    createdAt,
    ...(queue === undefined ? {} : { queue: toQueue(queue) }),
    ...(tagList.length === 0 ? {} : { tags: JSON.stringify(tagList), tagList }),
    ...(flow === undefined ? {} : { flow: true, ...traitColumns(flow) }),
  }
}

export function stateColumns(state: InstanceState) {
  return state.owner === undefined ? state : { ...state, owner: toText(state.owner) }
}
