import type { BufferedEvents } from "../core/journal/event-type-queue.ts"
import type { EntryType } from "../core/journal/journal.ts"
import type { Phase, Status } from "../core/journal/status.ts"
import type { StepInfo } from "../core/journal/step-info.ts"

/** A workflow that a client knows. */
export interface WorkflowInfo {
  /** The name to start it by. */
  readonly name: string
  /** The version that a start by name takes: the last registered. */
  readonly version: string
  /** All versions that are known here. */
  readonly versions: readonly string[]
}

/** Which instances `list` and `count` are about. What is left out does not restrict; several fields restrict together. */
export interface ListFilter {
  /** The name of the workflow. */
  readonly workflow?: string
  /** The version that the instance was started with. */
  readonly version?: string
  /** One status, or any of several. A word that is no status throws `BAD_OPTION`. */
  readonly status?: Status | readonly Status[]
  /** A tag that the instance has. */
  readonly tag?: string
  /** The task queue. */
  readonly queue?: string
  /** Created at this time or later: a Date, milliseconds since 1970 or ISO 8601 text. */
  readonly since?: Date | number | string
  /** Created before this time. */
  readonly until?: Date | number | string
  /** What the id begins with. */
  readonly idPrefix?: string
  /** How many instances a page has. Default 50, at most 1,000. */
  readonly limit?: number
  /** The `cursor` of the page before. Default: the first page. */
  readonly cursor?: string
  /** By the time of creation. Default `"newest"`: the newest first. */
  readonly order?: "newest" | "oldest"
}

/** A page of `list`. */
export interface ListPage {
  /** The instances of this page, in the order that was asked for. */
  readonly instances: readonly InstanceSummary[]
  /** Leads to the next page. Absent: this is the last one. */
  readonly cursor?: string
}

/** What `list` tells of an instance. */
export interface InstanceSummary {
  /** Unique in the store. */
  readonly id: string
  /** The name of its workflow. */
  readonly workflow: string
  /** The version that it was started with, and keeps. */
  readonly version: string
  /** 1, and one more at each restart and each `continueAsNew`. */
  readonly run: number
  /** Whether it waits, runs, or how it ended. */
  readonly status: Status
  /** What it is in the middle of, beside its status. Absent: nothing. */
  readonly phase?: Phase
  /** What it is found by: the tags of its start, as its code has changed them. */
  readonly tags: readonly string[]
  /** Its task queue. */
  readonly queue: string
  /** What its code noted about it with `ctx.setMemo`. */
  readonly memo?: Readonly<Record<string, unknown>>
  /** When it was started, in milliseconds since 1970. */
  readonly createdAt: number
  /** When something last happened to it, in milliseconds since 1970. */
  readonly updatedAt: number
}

/** All that `describe` tells of an instance. Sensitive and undecodable values are replaced; see `isHidden`. */
export interface InstanceDescription extends InstanceSummary {
  /** Random text that tells the instance from a later one with the same id. */
  readonly incarnation: string
  /** 1, and one more for each crash of the worker that ran it, in this run. */
  readonly attempt: number
  /** What its run was started with. */
  readonly input: unknown
  /** What its code returned, if it completed. */
  readonly result?: unknown
  /** What it failed with, why it was cancelled or terminated, or a `STALLED` error that says why it stalled. Absent in any other status. */
  readonly error?: unknown
  /** The instance that started it. */
  readonly parentId?: string
  /** Where a schedule started it: which one, and for which of its times. */
  readonly schedule?: { readonly id: string; readonly scheduledAt: number }
  /** Steps that it completed and could not undo. */
  readonly notRolledBack?: readonly string[]
  /** Events of this run that its code has not taken, by type. Absent: there are none. */
  readonly bufferedEvents?: readonly BufferedEvents[]
  /** The steps of its last run, in the order in which its code asked for them. */
  readonly steps: readonly StepInfo[]
}

/** Which part of a journal `history` gives. */
export interface HistoryOptions {
  /** The entries of this run only. Default: all runs. */
  readonly run?: number
  /** The `cursor` of the page before. Default: the first page. */
  readonly cursor?: string
  /** How many entries a page has. Default 50, at most 1,000. */
  readonly limit?: number
  /** Default: the oldest first. */
  readonly order?: "oldest" | "newest"
}

/** A page of `history`. */
export interface HistoryPage {
  /** The entries of this page, in the order that was asked for. */
  readonly entries: readonly HistoryEntry[]
  /** Leads to the next page. Absent: this is the last one. */
  readonly cursor?: string
}

/** One entry of the journal of an instance. */
export interface HistoryEntry {
  /** Its number in the journal, which never restarts, also across runs. */
  readonly position: number
  /** The run that it belongs to, from 1 on. */
  readonly run: number
  /** When it was recorded, in milliseconds since 1970. */
  readonly at: number
  /** What happened, such as `"step.completed"`. */
  readonly type: EntryType
  /** The fields of the entry, which depend on its type: ids of steps, values, times. Sensitive and undecodable values are replaced; see `isHidden`. */
  readonly data: Readonly<Record<string, unknown>>
}

/** Why an instance is not moving. */
export interface Why {
  /** The status that the sentences explain. */
  readonly status: Status
  /** In plain sentences, the most telling first. */
  readonly because: readonly string[]
  /** What happens next by itself, if anything does. */
  readonly next?: { readonly what: string; readonly at: number }
}
