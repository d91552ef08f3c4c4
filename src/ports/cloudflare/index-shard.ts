import type { Change } from "../../core/journal/change.ts"
import type { Status } from "../../core/journal/status.ts"
import type { Filter, Page, PageRequest } from "../directory.ts"
import type { InstanceRow } from "../journal-store.ts"
import type { ScheduleRow } from "../schedule-store.ts"

/**
 * One part of the index over instances that live each in a place of its own. What it holds are copies, which their instances send; a copy that
 * comes late, or twice, never takes the place of a newer one. Each method is one atomic operation.
 */
export interface IndexShard {
  /** Takes in how instances are now, and what happened to them; both only where it is news. */
  indexWrite(updates: readonly IndexUpdate[]): Promise<void>
  /** Forgets instances that were deleted, or that moved to another shard. */
  indexRemove(removals: readonly IndexRemoval[]): Promise<void>
  /** Ordered by (createdAt, id). */
  indexList(request: IndexListRequest): Promise<Page<IndexEntry>>
  /** How many of its instances fit the filter, by status or by workflow. */
  indexCount(filter: IndexFilter, by: "status" | "workflow"): Promise<Record<string, number>>
  /** What happened, after a number, of all its instances or of one: at most `limit`, in the order in which it was taken in. */
  indexChanges(request: IndexChangeRequest): Promise<IndexChangePage>
}

/** Copies of schedules, in the same shards. */
export interface ScheduleIndex {
  /** Takes in how a schedule is now. */
  scheduleWrite(row: ScheduleRow): Promise<void>
  /** Forgets a schedule that was deleted. */
  scheduleRemove(schedule: { readonly id: string; readonly incarnation: string }): Promise<void>
  /** Ordered by id. */
  scheduleList(request: ScheduleListRequest): Promise<Page<ScheduleRow>>
}

export interface ScheduleListRequest {
  readonly workflow?: string
  readonly limit: number
  readonly after?: string
}

/** How an instance is at one position of its journal. */
export interface IndexUpdate {
  readonly row: InstanceRow
  /** The last position of its journal that the row knows of: of two updates of an incarnation, the higher one counts. */
  readonly revision: number
  /** In the order of their positions. Those that were taken in before are passed over. */
  readonly changes: readonly IndexChange[]
}

export type IndexChange = Pick<Change, "position" | "run" | "at" | "type" | "data">

export interface IndexRemoval {
  readonly id: string
  readonly incarnation: string
  /** It lives on and is in another shard from now on: what happened to it stays here, and an update beyond this revision may come back. */
  readonly movedAt?: number
}

export type IndexFilter = Omit<Filter, "workflow" | "status"> & {
  /** The workflow. */
  readonly type?: string
  readonly status?: Status | readonly Status[]
}

export type IndexListRequest = IndexFilter & Partial<PageRequest>

export interface IndexEntry {
  readonly row: InstanceRow
  readonly revision: number
}

export interface IndexChangeRequest {
  /** 0: from the beginning. */
  readonly after: number
  readonly limit: number
  readonly instance?: string
}

export interface IndexChangePage {
  readonly changes: readonly IndexedChange[]
  /** Nothing is behind these, for now. */
  readonly isLast: boolean
  /** The number of the last change of the shard, removed or not: numbers never come again. */
  readonly latest: number
  /** Tells this shard from another that has its name, after its storage was lost. */
  readonly mark: string
}

export interface IndexedChange extends Omit<Change, "cursor"> {
  readonly seq: number
  readonly incarnation: string
}
