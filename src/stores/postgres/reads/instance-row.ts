import { defaultQueue } from "../../../core/workflow/task-queue.ts"
import type { FlowTraits } from "../../../ports/flow-control.ts"
import type { InstanceRow, RowState, NewInstance } from "../../../ports/journal-store.ts"
import { toInstanceRow as readInstanceRow } from "../../shared/instance-rows.ts"
import { fromText, toText } from "../../shared/unsafe-text.ts"
import type { PgRow } from "../connection/database.ts"

export { instanceColumns } from "../../shared/instance-rows.ts"

/** JSON in PostgreSQL's text holds everything but what its arrays and functions are given of it. */
export function toInstanceRow(row: PgRow): InstanceRow {
  return readInstanceRow(row, fromText)
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

/** What creates its row, but for its id and its incarnation. */
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

/** A JSON list. */
export function toEvents(events: readonly string[]): string {
  return JSON.stringify(events.map(toText))
}

export function stateColumns(state: RowState) {
  return state.owner === undefined ? state : { ...state, owner: toText(state.owner) }
}
