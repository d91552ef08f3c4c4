import type { Duration } from "../core/duration.ts"
import type { Overlap } from "../core/schedule.ts"
import type { Status } from "../core/status.ts"
import type { AnyWorkflow, EventMap, HandlersOf, InputOf, ResultOf, SentOf } from "../core/workflow.ts"
import type { Handle } from "./client.ts"

/** What every client can do with schedules. */
export interface ScheduleClient {
  create<W extends AnyWorkflow | string>(id: string, options: ScheduleOptionsOf<NoInfer<W>> & { readonly workflow: W }): Promise<ScheduleHandleOf<W>>
  /** Makes no request. */
  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): ScheduleHandleOf<W>
  list(filter?: ScheduleFilter): Promise<SchedulePage>
}

/** One schedule. */
export interface ScheduleHandle<In = unknown, Out = unknown, Sent = EventMap, Handlers = unknown> {
  readonly id: string
  describe(): Promise<ScheduleDescription>
  /** What is left out stays as it is; null takes an option away. */
  update(changes: ScheduleUpdate<In>): Promise<void>
  /** Nothing fires until it is resumed. Times that come meanwhile are not caught up. */
  pause(reason?: string): Promise<ScheduleControlResult>
  resume(): Promise<ScheduleControlResult>
  /** Starts an instance now, whatever else runs; also while the schedule is paused. */
  trigger(options?: { readonly input?: In }): Promise<Handle<Out, Sent, Handlers>>
  /** Fires due times of the past whose instances do not exist, oldest first. */
  backfill(options: BackfillOptions): Promise<readonly BackfilledFiring[]>
  /** Its instances stay, and those under way go on. */
  delete(): Promise<void>
}

/** Either a cron expression in a time zone (UTC by default), or an interval. */
export type ScheduleTimes =
  | { readonly cron: string; readonly timeZone?: string; readonly every?: never }
  | { readonly every: Duration; readonly cron?: never; readonly timeZone?: never }

export type ScheduleOptions<In> = ScheduleTimes &
  ScheduleInput<In> & {
    /** What a time does that comes while an instance of the schedule is not over. Default `"skip"`. */
    readonly overlap?: Overlap
    /** Times that nobody was there to fire are fired later if they are not older than this. Default: only the latest, up to an hour. */
    readonly catchUp?: Duration
    /** Of each instance. */
    readonly tags?: readonly string[]
    readonly timeout?: Duration
    /** Default: what the workflow says, else `"default"`. */
    readonly taskQueue?: string
    /** No times before. The times of an interval are counted from here. */
    readonly startAt?: Date | number | string
    /** No times after. */
    readonly endAt?: Date | number | string
    readonly paused?: boolean
    /** `"update"`: the schedule that has this id becomes what is said here, and keeps what became of its times. */
    readonly ifExists?: "error" | "update"
  }

/** The same, of a workflow or of one that is only named. */
export type ScheduleOptionsOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? ScheduleOptions<InputOf<W>> : ScheduleOptions<unknown>
export type ScheduleHandleOf<W extends AnyWorkflow | string> = W extends AnyWorkflow
  ? ScheduleHandle<InputOf<W>, ResultOf<W>, SentOf<W>, HandlersOf<W>>
  : ScheduleHandle

/** Input may be left out where the workflow takes none. */
type ScheduleInput<In> = undefined extends In ? { readonly input?: In } : [In] extends [void] ? { readonly input?: undefined } : { readonly input: In }

export type ScheduleUpdate<In = unknown> = Partial<ScheduleTimes> & {
  readonly input?: In
  readonly overlap?: Overlap
  readonly catchUp?: Duration | null
  readonly tags?: readonly string[]
  readonly timeout?: Duration | null
  readonly taskQueue?: string | null
  readonly startAt?: Date | number | string | null
  readonly endAt?: Date | number | string | null
}

export interface BackfillOptions {
  readonly from: Date | number | string
  /** Included, as `from` is; not in the future. */
  readonly to: Date | number | string
  /** All at once, or one after another. Default: all at once only if the schedule itself allows it. */
  readonly overlap?: "allow" | "queue"
}

export interface BackfilledFiring {
  /** Of the instance. */
  readonly id: string
  readonly scheduledAt: number
  /** `queued`: it starts when those before it are over. */
  readonly outcome: "started" | "queued" | "exists"
}

/** `accepted: false`: nothing changed, and `reason` says why. */
export interface ScheduleControlResult {
  readonly id: string
  readonly accepted: boolean
  readonly reason?: string
}

export interface ScheduleFilter {
  readonly workflow?: string
  /** Default 50, at most 1,000. */
  readonly limit?: number
  readonly cursor?: string
}

export interface SchedulePage {
  /** Ordered by id. */
  readonly schedules: readonly ScheduleSummary[]
  readonly cursor?: string
}

export interface ScheduleSummary {
  readonly id: string
  readonly workflow: string
  /** For people: `every 5 minutes`, `0 2 * * * in Europe/Berlin`. */
  readonly times: string
  readonly overlap: Overlap
  /** `ended`: no time is left. */
  readonly status: "active" | "paused" | "ended"
  /** The first time that has not been fired, skipped or missed. */
  readonly nextAt?: number
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ScheduleDescription extends ScheduleSummary {
  readonly input: unknown
  readonly cron?: string
  readonly timeZone?: string
  readonly everyMs?: number
  readonly catchUpMs?: number
  readonly timeoutMs?: number
  readonly tags: readonly string[]
  readonly taskQueue?: string
  readonly startAt?: number
  readonly endAt?: number
  readonly paused?: { readonly at: number; readonly reason?: string }
  /** The next five. */
  readonly nextTimes: readonly number[]
  readonly lastFiring?: ScheduledInstance
  /** Those started last, newest first. */
  readonly recent: readonly ScheduledInstance[]
  /** Times that wait for an instance to end, in the order in which they will start. */
  readonly waiting: readonly number[]
  readonly counts: { readonly started: number; readonly skipped: number; readonly missed: number }
  /** Times that started nothing, and why: newest first, stretches of one reason together. */
  readonly unfired: readonly UnfiredTimes[]
  /** What it waits for, in plain sentences; empty where only the next time is waited for. */
  readonly because: readonly string[]
}

export interface ScheduledInstance {
  readonly id: string
  readonly scheduledAt: number
  readonly startedAt: number
  readonly by?: "trigger" | "backfill"
  /** Absent: it is deleted. */
  readonly status?: Status
}

export interface UnfiredTimes {
  readonly outcome: "skipped" | "missed"
  /** The first and the last of them. */
  readonly from: number
  readonly to: number
  readonly count: number
  readonly reason: string
}
