import type { RetentionMs } from "../core/workflow/retention.ts"
import type { BufferedEvents } from "../core/journal/event-type-queue.ts"
import type { EntryType } from "../core/journal/journal.ts"
import type { Phase, Status } from "../core/journal/status.ts"
import type { StepInfo } from "../core/journal/step-info.ts"

/** A workflow that the engine knows. */
export interface WorkflowInfo {
  /** The name of the workflow. */
  readonly name: string
  /** The last registered version. A start by name uses it. */
  readonly version: string
  /** All known versions. */
  readonly versions: readonly string[]
}

/** Selects the instances of `list` and `count`. An instance has to match all fields that are given. */
export interface ListFilter {
  /** The name of the workflow. */
  readonly workflow?: string
  /** The version that the instance was started with. */
  readonly version?: string
  /** One status, or a list of which any may match. An unknown status throws `BAD_OPTION`. */
  readonly status?: Status | readonly Status[]
  /** A tag that the instance has. */
  readonly tag?: string
  /** The task queue. */
  readonly queue?: string
  /** Created at this time or later: a Date, milliseconds since 1970 or ISO 8601 text. */
  readonly since?: Date | number | string
  /** Created before this time. */
  readonly until?: Date | number | string
  /** The beginning of the id. */
  readonly idPrefix?: string
  /** The most instances of a page. Default 50, at most 1,000. */
  readonly limit?: number
  /** The `cursor` of the page before. Default: the first page. */
  readonly cursor?: string
  /** The order by the time of creation. Default `"newest"`: the newest instance comes first. */
  readonly order?: "newest" | "oldest"
}

/** A page of `list`. */
export interface ListPage {
  /** The instances of this page. */
  readonly instances: readonly InstanceSummary[]
  /** The cursor of the next page. Absent on the last page. */
  readonly cursor?: string
}

/** An instance in a page of `list`. */
export interface InstanceSummary {
  /** Unique in the store. */
  readonly id: string
  /** The name of its workflow. */
  readonly workflow: string
  /** Its version, which never changes. */
  readonly version: string
  /** 1, and one more at each restart and each `continueAsNew`. */
  readonly run: number
  /** Its status. */
  readonly status: Status
  /** What it is doing besides its status, such as `"cancelling"`. Absent if there is nothing. */
  readonly phase?: Phase
  /** Its tags: those of its start, or those that its code has set since. */
  readonly tags: readonly string[]
  /** Its task queue. */
  readonly queue: string
  /** The memo that its code has set with `ctx.setMemo`. */
  readonly memo?: Readonly<Record<string, unknown>>
  /** When it was started, in milliseconds since 1970. */
  readonly createdAt: number
  /** When it last changed, in milliseconds since 1970. */
  readonly updatedAt: number
}

/** An instance as `describe` returns it. Sensitive and undecodable values are replaced; see `isHidden`. */
export interface InstanceDescription extends InstanceSummary {
  /** A random token. A later instance with the same id has another token. */
  readonly incarnation: string
  /** 1, and one more for each crash of the worker that ran it, in this run. */
  readonly attempt: number
  /** The input of its current run. */
  readonly input: unknown
  /** The return value of its code, if it has completed. */
  readonly result?: unknown
  /** The error of an instance that is failed, cancelled, terminated or stalled. Absent in any other status. */
  readonly error?: unknown
  /** The id of the instance that started it as a child. */
  readonly parentId?: string
  /** The schedule that started it, and the time of the schedule that it was started for. */
  readonly schedule?: { readonly id: string; readonly scheduledAt: number }
  /** How long it is kept when it has ended, in milliseconds. Absent: for ever. */
  readonly retention?: RetentionMs
  /** The completed steps that could not be rolled back. */
  readonly notRolledBack?: readonly string[]
  /** The events of this run that its code has not taken, by type. Absent if there are none. */
  readonly bufferedEvents?: readonly BufferedEvents[]
  /** The steps of its last run, in the order in which its code asked for them. */
  readonly steps: readonly StepInfo[]
}

/** Options of `history`. */
export interface HistoryOptions {
  /** Returns the entries of this run only. Default: all runs. */
  readonly run?: number
  /** The `cursor` of the page before. Default: the first page. */
  readonly cursor?: string
  /** The most entries of a page. Default 50, at most 1,000. */
  readonly limit?: number
  /** The order of the entries. Default: the oldest entry comes first. */
  readonly order?: "oldest" | "newest"
}

/** A page of `history`. */
export interface HistoryPage {
  /** The entries of this page. */
  readonly entries: readonly HistoryEntry[]
  /** The cursor of the next page. Absent on the last page. */
  readonly cursor?: string
}

/** One entry of the journal of an instance. */
export interface HistoryEntry {
  /** Its number in the journal. A new run continues the numbering. */
  readonly position: number
  /** The run that the entry belongs to. The first run is 1. */
  readonly run: number
  /** When it was recorded, in milliseconds since 1970. */
  readonly at: number
  /** The type of the entry, such as `"step.completed"`. */
  readonly type: EntryType
  /** The fields of the entry, which depend on its type: ids of steps, values, times. Sensitive and undecodable values are replaced; see `isHidden`. */
  readonly data: Readonly<Record<string, unknown>>
}

/** Why an instance does not move. */
export interface Why {
  /** The status that the sentences explain. */
  readonly status: Status
  /** The reasons in plain sentences. The most important one comes first. */
  readonly because: readonly string[]
  /** The next thing that happens by itself, and when. Absent if there is none. */
  readonly next?: { readonly what: string; readonly at: number }
}
