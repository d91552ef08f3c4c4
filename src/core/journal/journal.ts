import type { Payload } from "../values/value-codec.ts"
import type { RetentionMs } from "../workflow/retention.ts"
import type { TerminalStatus } from "./status.ts"

/**
 * The journal is the append-only record of an instance. Its entries have positions 1, 2, 3 …, which never restart, not even in a new run.
 * docs/journal-format.md gives the exact form on disk. Golden journals in test/journals keep an example of each entry type.
 *
 * There are three kinds of entries:
 *   asks      the workflow has asked for a step, a sleep or a wait
 *   releases  an event for workflow code: releasing it starts the code, settles a promise, or calls a handler
 *   notes     a fact that workflow code does not see as an event of its own
 */
export type Entry = (Ask | Release | Note) & OwnTime

/** The time of an entry that was recorded earlier than the turn that holds it. A fork has such entries from its original. */
interface OwnTime {
  readonly at?: number
}

export type Ask =
  | {
      readonly type: "step.started"
      readonly id: string
      readonly attempt: number
      readonly child?: ChildLink
      readonly kind?: "transaction" | "activity"
      /** The attempt is a task in this task queue. Absent: the attempt runs where the workflow runs. */
      readonly queue?: string
      /** How many of the earlier attempts were handed back by processes that closed. They do not count as lost. */
      readonly handedBack?: number
    }
  | { readonly type: "sleep.started"; readonly id: string; readonly wakeAt: number; readonly until?: true }
  | { readonly type: "wait.started"; readonly id: string; /** Absent: the wait is for a condition. */ readonly event?: string; readonly timeoutAt?: number }

export type Release =
  | {
      readonly type: "run.started"
      readonly run: number
      readonly workflow: string
      readonly version: string
      readonly value: Payload
      readonly startAt?: number
      readonly timeoutAt?: number
      readonly retention?: RetentionMs
      readonly kept?: readonly Kept[]
      /** The seed of the random numbers. Absent: incarnation and run. A run that keeps entries of another run has the seed of that run. */
      readonly seed?: string
      /** The start time that the code sees. Absent: the time of this entry. A run that keeps entries of another run has the start time of that run. */
      readonly startedAt?: number
      readonly parent?: ParentLink
      readonly schedule?: ScheduledFor
      /** Ids of events that earlier runs have received. Present in a run that continues as new. */
      readonly eventIds?: readonly string[]
      /** The tags that the run starts with; `memo` is the memo that it starts with. */
      readonly tags?: readonly string[]
      readonly memo?: Payload
    }
  | { readonly type: "step.completed"; readonly id: string; readonly value: Payload }
  | {
      readonly type: "step.failed"
      readonly id: string
      readonly attempt: number
      readonly value: Payload
      readonly retryAt?: number
      /** What the last heartbeat of an activity reported, as it is stored, for the next attempt. */
      readonly details?: string
    }
  | { readonly type: "sleep.completed"; readonly id: string }
  | { readonly type: "wait.completed"; readonly id: string; /** Absent: a condition holds. */ readonly from?: number }
  | { readonly type: "wait.timedOut"; readonly id: string }
  | {
      readonly type: "cancel.requested"
      readonly cause: "request" | "timeout"
      readonly reason?: string
      /** The cancel was written while no worker ran the instance. Its grace starts with the next entry, which the worker that loads it writes. */
      readonly unowned?: true
    }
  | { readonly type: "terminate.requested"; readonly reason?: string }
  | {
      readonly type: "child.ended"
      readonly id: string
      readonly instance: string
      /** The child's workflow. Absent in journals of older versions: then the child's error reaches the code without a `ChildFailedError` around it. */
      readonly workflow?: string
      readonly status: TerminalStatus
      readonly value: Payload
      readonly reason?: string
    }
  | { readonly type: "event.handled"; readonly event: string; readonly from: number }
  | { readonly type: "update.accepted"; readonly update: string; readonly name: string; readonly value: Payload }

export type Note =
  | { readonly type: "event.received"; readonly event: string; readonly value: Payload; readonly eventId?: string }
  | { readonly type: "ask.aborted"; readonly id: string }
  | { readonly type: "patched"; readonly patch: string }
  /** The code has changed the annotations: `tags` are all tags from then on, `value` is the whole memo. */
  | { readonly type: "annotated"; readonly tags?: readonly string[]; readonly value?: Payload }
  | { readonly type: "update.completed"; readonly update: string; readonly value: Payload }
  | { readonly type: "update.failed"; readonly update: string; readonly value: Payload }
  | { readonly type: "paused"; readonly reason?: string }
  | { readonly type: "resumed" }
  | { readonly type: "recovered"; readonly worker: string }
  | { readonly type: "message.ignored"; readonly kind: string; readonly reason: string }
  | { readonly type: "rested"; /** The code waits for its handlers to be called. */ readonly on?: "handlers" }
  | { readonly type: "stalled"; readonly code: string; readonly message: string }
  | { readonly type: "run.continued" }
  | { readonly type: "run.completed"; readonly value: Payload }
  | { readonly type: "run.failed"; readonly value: Payload; readonly notRolledBack?: readonly string[] }
  | { readonly type: "run.cancelled"; readonly reason?: string; readonly notRolledBack?: readonly string[] }
  | { readonly type: "run.terminated"; readonly reason?: string; readonly notRolledBack?: readonly string[] }
  | { readonly type: "hook.completed"; readonly hook: string }
  | { readonly type: "hook.failed"; readonly hook: string; readonly attempt: number; readonly value: Payload; readonly retryAt?: number }

/** A range of positions in earlier runs that a run restarted from a step keeps. Both ends are included. */
export interface Kept {
  readonly from: number
  readonly to: number
}

/** Names the child that a step starts. */
export interface ChildLink {
  readonly instance: string
  readonly onParentEnd: OnParentEnd
}

/** The effect of a parent's end on a running child. */
export type OnParentEnd = "cancel" | "terminate" | "abandon"

/** The parent's step that is told when the instance ends. */
export interface ParentLink {
  readonly instance: string
  readonly incarnation: string
  readonly run: number
  readonly step: string
}

/** The schedule that has started the instance, and the time that it fired for. */
export interface ScheduledFor {
  readonly id: string
  readonly scheduledAt: number
}

/** The type of a journal entry, such as `"step.completed"`. */
export type EntryType = Entry["type"]
export type EntryOf<T extends EntryType> = Extract<Entry, { type: T }>

/** An entry with its position and run. `at` is the time of the turn that holds it, unless the entry has a time of its own. */
export interface Recorded<E extends Entry = Entry> {
  readonly position: number
  readonly run: number
  readonly at: number
  readonly entry: E
}

export function isAsk(entry: Entry): entry is Ask {
  return entry.type === "step.started" || entry.type === "sleep.started" || entry.type === "wait.started"
}

/** Whether the entry ends a run. */
export function isEnding(entry: Entry): entry is EntryOf<"run.completed" | "run.failed" | "run.cancelled" | "run.terminated"> {
  return entry.type !== "run.started" && entry.type !== "run.continued" && entry.type.startsWith("run.")
}

export const entryTypes = [
  "step.started",
  "sleep.started",
  "wait.started",
  "run.started",
  "step.completed",
  "step.failed",
  "sleep.completed",
  "wait.completed",
  "wait.timedOut",
  "cancel.requested",
  "terminate.requested",
  "child.ended",
  "event.handled",
  "update.accepted",
  "event.received",
  "ask.aborted",
  "patched",
  "annotated",
  "update.completed",
  "update.failed",
  "paused",
  "resumed",
  "recovered",
  "message.ignored",
  "rested",
  "stalled",
  "run.continued",
  "run.completed",
  "run.failed",
  "run.cancelled",
  "run.terminated",
  "hook.completed",
  "hook.failed",
] as const satisfies readonly EntryType[]
