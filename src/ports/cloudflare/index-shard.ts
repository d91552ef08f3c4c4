import type { Change } from "../../core/journal/change.ts"
import type { Status } from "../../core/journal/status.ts"
import type { Filter, Page, PageRequest } from "../directory.ts"
import type { InstanceRow } from "../journal-store.ts"
import type { ScheduleRow } from "../schedule-store.ts"

/**
 * One shard of the index over instances that live in objects of their own. A shard holds copies of instance rows and their changes, which the instances
 * send. A copy that arrives late, or twice, never replaces a newer copy. Each method is one atomic operation.
 */
export interface IndexShard {
  /** Stores the rows and changes of instances. A row that is not newer than the stored one, and a change that is already stored, are ignored. */
  indexWrite(updates: readonly IndexUpdate[]): Promise<void>
  /** Removes instances that were deleted, or that moved to another shard. */
  indexRemove(removals: readonly IndexRemoval[]): Promise<void>
  /** A page of instances, ordered by (createdAt, id). */
  indexList(request: IndexListRequest): Promise<Page<IndexEntry>>
  /** The number of instances that match the filter, by status or by workflow. */
  indexCount(filter: IndexFilter, by: "status" | "workflow"): Promise<Record<string, number>>
  /** At most `limit` changes behind a number, of all instances of the shard or of one, in the order in which the shard stored them. */
  indexChanges(request: IndexChangeRequest): Promise<IndexChangePage>
}

/** The copies of schedules that an index shard holds. A late copy never replaces a newer one. */
export interface ScheduleIndex {
  /** Stores the row of a schedule. */
  scheduleWrite(row: ScheduleRow): Promise<void>
  /** Removes a schedule that was deleted. */
  scheduleRemove(schedule: { readonly id: string; readonly incarnation: string }): Promise<void>
  /** A page of schedules, ordered by id. */
  scheduleList(request: ScheduleListRequest): Promise<Page<ScheduleRow>>
}

/** The task queues that a shard lists: those that have tasks or workers, or had some in the last day. */
export interface TaskQueueIndex {
  /** Lists the queue. */
  taskQueueWrite(queue: string): Promise<void>
  /** Removes a queue that nobody uses any more. */
  taskQueueRemove(queue: string): Promise<void>
  /** The names of the queues, in order. */
  taskQueueList(): Promise<readonly string[]>
}

export interface ScheduleListRequest {
  readonly workflow?: string
  readonly limit: number
  readonly after?: string
}

/** The row of an instance at one position of its journal, and its changes up to there. */
export interface IndexUpdate {
  readonly row: InstanceRow
  /** The last journal position that the row reflects. Of two updates of one incarnation, the one with the higher revision counts. */
  readonly revision: number
  /** Changes in the order of their positions. The shard ignores those that it has stored before. */
  readonly changes: readonly IndexChange[]
}

export type IndexChange = Pick<Change, "position" | "run" | "at" | "type" | "data">

export interface IndexRemoval {
  readonly id: string
  readonly incarnation: string
  /** The instance is not deleted but has moved to another shard. This shard keeps its changes, and accepts it again with an update beyond this revision. */
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
  /** The number behind which changes are read; 0 reads from the beginning. */
  readonly after: number
  readonly limit: number
  readonly instance?: string
}

export interface IndexChangePage {
  readonly changes: readonly IndexedChange[]
  /** True: the shard has no further changes now. */
  readonly isLast: boolean
  /** The number of the last change that the shard ever stored, even if that is removed: a number is never used again. */
  readonly latest: number
  /** A random token of the shard's storage. It tells this shard from a later one with the same name, after the storage was lost. */
  readonly mark: string
}

export interface IndexedChange extends Omit<Change, "cursor"> {
  readonly seq: number
  readonly incarnation: string
}
