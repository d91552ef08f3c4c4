import type { Payload } from "../values/value-codec.ts"
import type { TerminalStatus } from "./status.ts"

/**
 * The journal: what an instance went through, as entries at positions 1, 2, 3 … that never restart, also across runs.
 * docs/journal-format.md gives the exact form on disk; golden journals in test/journals hold one of each type for ever.
 *
 * Entries of three sorts:
 *   asks      `*.started`: the workflow asked for it; free, as it rides in the turn of the previous result
 *   releases  what resolves or rejects a promise in workflow code, one at a time and in this order, live and on replay
 *   notes     what happened to the instance as a whole
 */
export type Entry = (Ask | Release | Note) & OwnTime

/** Of an entry that was recorded earlier than the turn that holds it: a fork has those of its original. */
interface OwnTime {
  readonly at?: number
}

export type Ask =
  | { readonly type: "step.started"; readonly id: string; readonly attempt: number; readonly child?: ChildLink; readonly kind?: "transaction" }
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
      readonly kept?: readonly Kept[]
      /** Of the random numbers, where it is not the incarnation and run: a run that keeps what another recorded draws the same ones. */
      readonly seed?: string
      /** When it began as its code sees it, where that is not the time of this entry: a run that keeps what another recorded began when that one did. */
      readonly startedAt?: number
      readonly parent?: ParentLink
      readonly schedule?: ScheduledFor
      /** Ids of events that the runs before received, where it goes on as new. */
      readonly eventIds?: readonly string[]
      /** All tags and the memo that the run begins with. */
      readonly tags?: readonly string[]
      readonly memo?: Payload
    }
  | { readonly type: "step.completed"; readonly id: string; readonly value: Payload }
  | { readonly type: "step.failed"; readonly id: string; readonly attempt: number; readonly value: Payload; readonly retryAt?: number }
  | { readonly type: "sleep.completed"; readonly id: string }
  | { readonly type: "wait.completed"; readonly id: string; /** Absent: a condition holds. */ readonly from?: number }
  | { readonly type: "wait.timedOut"; readonly id: string }
  | {
      readonly type: "cancel.requested"
      readonly cause: "request" | "timeout"
      readonly reason?: string
      /** No worker ran the instance: the grace counts from the next entry, which the worker that loads it writes. */
      readonly unowned?: true
    }
  | { readonly type: "terminate.requested"; readonly reason?: string }
  | {
      readonly type: "child.ended"
      readonly id: string
      readonly instance: string
      /** Of the child. Absent in entries that were written before it was recorded: their errors reach the code as they are. */
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
  /** What the code noted about the instance: all its tags from then on, or the whole memo. */
  | { readonly type: "annotated"; readonly tags?: readonly string[]; readonly value?: Payload }
  | { readonly type: "update.completed"; readonly update: string; readonly value: Payload }
  | { readonly type: "update.failed"; readonly update: string; readonly value: Payload }
  | { readonly type: "paused"; readonly reason?: string }
  | { readonly type: "resumed" }
  | { readonly type: "recovered"; readonly worker: string }
  | { readonly type: "message.ignored"; readonly kind: string; readonly reason: string }
  | { readonly type: "rested"; /** The code waits for what its handlers are to bring. */ readonly on?: "handlers" }
  | { readonly type: "stalled"; readonly code: string; readonly message: string }
  | { readonly type: "run.continued" }
  | { readonly type: "run.completed"; readonly value: Payload }
  | { readonly type: "run.failed"; readonly value: Payload; readonly notRolledBack?: readonly string[] }
  | { readonly type: "run.cancelled"; readonly reason?: string; readonly notRolledBack?: readonly string[] }
  | { readonly type: "run.terminated"; readonly reason?: string; readonly notRolledBack?: readonly string[] }
  | { readonly type: "hook.completed"; readonly hook: string }
  | { readonly type: "hook.failed"; readonly hook: string; readonly attempt: number; readonly value: Payload; readonly retryAt?: number }

/** A stretch of positions of earlier runs that a run restarted from a step begins with; both ends included. */
export interface Kept {
  readonly from: number
  readonly to: number
}

/** The step starts a child, which it names. */
export interface ChildLink {
  readonly instance: string
  readonly onParentEnd: OnParentEnd
}

/** What becomes of a child that is not over when its parent is. */
export type OnParentEnd = "cancel" | "terminate" | "abandon"

/** Who is told when the instance ends: the step of a run of its parent. */
export interface ParentLink {
  readonly instance: string
  readonly incarnation: string
  readonly run: number
  readonly step: string
}

/** Which schedule started the instance, and for which of its times. */
export interface ScheduledFor {
  readonly id: string
  readonly scheduledAt: number
}

/** What an entry of a journal says happened, such as `"step.completed"`. */
export type EntryType = Entry["type"]
export type EntryOf<T extends EntryType> = Extract<Entry, { type: T }>

/** An entry at its place. `at` is the time of the turn that holds it. */
export interface Recorded<E extends Entry = Entry> {
  readonly position: number
  readonly run: number
  readonly at: number
  readonly entry: E
}

export function isAsk(entry: Entry): entry is Ask {
  return entry.type === "step.started" || entry.type === "sleep.started" || entry.type === "wait.started"
}

/** It ends a run. */
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
