import { defaultQueue } from "../../../core/workflow/task-queue.ts"
import type { FlowTraits } from "../../../ports/flow-control.ts"
import type { InstanceRow, RowState, NewInstance } from "../../../ports/journal-store.ts"
import { toInstanceRow as readInstanceRow } from "../../shared/instance-rows.ts"
import { fromText, toText } from "../../shared/unsafe-text.ts"
import type { PgRow } from "../connection/database.ts"

export { instanceColumns } from "../../shared/instance-rows.ts"

/** Reads a row. Ids and names are escaped in the database, because PostgreSQL cannot store every text (`toText`). */
export function toInstanceRow(row: PgRow): InstanceRow {
  return readInstanceRow(row, fromText)
}

/** The columns of the traits, as the functions take them from JSON. `lane` is the fairness key: the key of the first limit. */
export function traitColumns({ priority = 0, limits = [], unique = [] }: FlowTraits) {
  const [first] = limits
  return {
    priority,
    ...(limits.length === 0 ? {} : { limits: JSON.stringify(limits) }),
    ...(unique.length === 0 ? {} : { uniques: JSON.stringify(unique.map(({ kind, key }) => ({ kind, key: toText(key) }))) }),
    ...(first?.isKeyed ? { lane: toText(first.key) } : {}),
  }
}

/** The default queue, which most instances have, is an empty text. */
export function toQueue(queue: string): string {
  return queue === defaultQueue ? "" : toText(queue)
}

/** The columns of a new instance's row, without its id and incarnation. */
export function creationColumns({ workflow, version, createdAt, tags, queue, flow, events }: NewInstance) {
  const tagList = tags.map(toText)
  return {
    workflow: toText(workflow),
    version: toText(version),
    createdAt,
    ...(queue === undefined ? {} : { queue: toQueue(queue) }),
    ...(tagList.length === 0 ? {} : { tags: JSON.stringify(tagList), tagList }),
    ...(flow === undefined ? {} : { flow: true, ...traitColumns(flow) }),
    ...(events === undefined ? {} : { events: toEvents(events) }),
  }
}

/** The declared event types as a JSON list. */
export function toEvents(events: readonly string[]): string {
  return JSON.stringify(events.map(toText))
}

export function stateColumns(state: RowState) {
  return state.owner === undefined ? state : { ...state, owner: toText(state.owner) }
}
