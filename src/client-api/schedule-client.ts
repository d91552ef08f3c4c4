import type { Duration } from "../core/time/duration.ts"
import type { Overlap } from "../core/time/schedule.ts"
import type { Status } from "../core/journal/status.ts"
import type { AnyWorkflow, EventMap, HandlersOf, InputOf, ResultOf, SentOf } from "../core/workflow/workflow.ts"
import type { Handle } from "./client-api.ts"

/** The schedules of a client. */
export interface ScheduleClient {
  /** Creates a schedule. It starts an instance at each of its times. Throws `SCHEDULE_EXISTS`, `BAD_SCHEDULE` or `INVALID_INPUT`. */
  create<W extends AnyWorkflow | string>(id: string, options: ScheduleOptionsOf<NoInfer<W>> & { readonly workflow: W }): Promise<ScheduleHandleOf<W>>
  /** Returns a handle of a schedule without a request: `get(id)`, or `get(workflow, id)` for a handle with the types of the workflow. */
  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): ScheduleHandleOf<W>
  /** Returns a page of schedules, ordered by id. */
  list(filter?: ScheduleFilter): Promise<SchedulePage>
}

/** One schedule. */
export interface ScheduleHandle<In = unknown, Out = unknown, Sent = EventMap, Handlers = unknown> {
  /** The id of the schedule. */
  readonly id: string
  /** Returns everything about the schedule: its next times, its firings, and the times that it skipped. Throws `SCHEDULE_NOT_FOUND`, as all calls do. */
  describe(): Promise<ScheduleDescription>
  /** Changes options. An option that is left out stays as it is; null removes it. */
  update(changes: ScheduleUpdate<In>): Promise<void>
  /** Pauses the schedule. Times that pass until it is resumed are never fired. */
  pause(reason?: string): Promise<ScheduleControlResult>
  /** Lets the schedule fire again from now on. */
  resume(): Promise<ScheduleControlResult>
  /** Starts an instance now, even if the schedule is paused or another instance runs. */
  trigger(options?: { readonly input?: In }): Promise<Handle<Out, Sent, Handlers>>
  /** Fires due times of the past whose instances do not exist, oldest first. */
  backfill(options: BackfillOptions): Promise<readonly BackfilledFiring[]>
  /** Deletes the schedule. Its instances stay, and running instances go on. */
  delete(): Promise<void>
}

/** The times of a schedule: either a cron expression, or an interval. */
export type ScheduleTimes =
  | {
      /**
       * A cron expression: minute, hour, day of the month, month and day of the week, such as `"30 9 * * 1-5"`. With six fields the second comes first.
       * Words such as `@daily` are allowed.
       */
      readonly cron: string
      /** The time zone of the cron expression, such as `"Europe/Berlin"`. Default UTC. */
      readonly timeZone?: string
      readonly every?: never
    }
  | {
      /** The time from one firing to the next. */
      readonly every: Duration
      readonly cron?: never
      readonly timeZone?: never
    }

/** Options of `create`: when the schedule fires, and what it starts. */
export type ScheduleOptions<In> = ScheduleTimes &
  ScheduleInput<In> & {
    /** What happens at a time while an instance of the schedule has not ended. Default `"skip"`. */
    readonly overlap?: Overlap
    /** Times that passed without a worker are fired later if they are not older than this. Default: only the latest time is fired, up to an hour late. */
    readonly catchUp?: Duration
    /** The tags of each instance. Default: none. */
    readonly tags?: readonly string[]
    /** How long each instance may take. Default: the timeout of the workflow, else no limit. */
    readonly timeout?: Duration
    /** The task queue of each instance. Default: that of the workflow, else `"default"`. */
    readonly taskQueue?: string
    /** The schedule has no times before this. An interval is counted from here. Default: counted from 1970, so `"15m"` is on the quarters of an hour. */
    readonly startAt?: Date | number | string
    /** The schedule has no times after this. Default: it fires for ever. */
    readonly endAt?: Date | number | string
    /** Creates the schedule paused. Default false. */
    readonly paused?: boolean
    /** What happens if the id is taken. `"error"`, the default: `SCHEDULE_EXISTS`. `"update"`: the schedule gets these options and keeps its firings. */
    readonly ifExists?: "error" | "update"
  }

/** The options for a workflow that is given as its definition or by its name. */
export type ScheduleOptionsOf<W extends AnyWorkflow | string> = W extends AnyWorkflow ? ScheduleOptions<InputOf<W>> : ScheduleOptions<unknown>
export type ScheduleHandleOf<W extends AnyWorkflow | string> = W extends AnyWorkflow
  ? ScheduleHandle<InputOf<W>, ResultOf<W>, SentOf<W>, HandlersOf<W>>
  : ScheduleHandle

/** The input may be left out if the workflow takes none. */
type ScheduleInput<In> = undefined extends In
  ? {
      /** The input of each instance. */
      readonly input?: In
    }
  : [In] extends [void]
    ? { readonly input?: undefined }
    : { readonly input: In }

/** The changes of `update`. */
export type ScheduleUpdate<In = unknown> = Partial<ScheduleTimes> & {
  /** The input of instances from now on. */
  readonly input?: In
  /** What happens at a time while an instance of the schedule has not ended. */
  readonly overlap?: Overlap
  /** How late a time may be fired. */
  readonly catchUp?: Duration | null
  /** The tags of instances from now on. */
  readonly tags?: readonly string[]
  /** The timeout of instances from now on. */
  readonly timeout?: Duration | null
  /** The task queue of instances from now on. */
  readonly taskQueue?: string | null
  /** The schedule has no times before this. An interval is counted from here. */
  readonly startAt?: Date | number | string | null
  /** The schedule has no times after this. */
  readonly endAt?: Date | number | string | null
}

/** Options of `backfill`: which past times are fired. */
export interface BackfillOptions {
  /** The earliest time to fire. */
  readonly from: Date | number | string
  /** The latest time to fire, not in the future. */
  readonly to: Date | number | string
  /** `"allow"` starts all instances at once, `"queue"` one after another. Default: `"allow"` if the schedule has `overlap: "allow"`, else `"queue"`. */
  readonly overlap?: "allow" | "queue"
}

/** The outcome of one time of a backfill. */
export interface BackfilledFiring {
  /** The id of the instance. */
  readonly id: string
  /** The scheduled time, in milliseconds since 1970. */
  readonly scheduledAt: number
  /** `started`: the instance was started. `queued`: it starts when the instances before it have ended. `exists`: it existed before. */
  readonly outcome: "started" | "queued" | "exists"
}

/** The answer of pause and resume. With `accepted: false` nothing has changed, and `reason` says why. */
export interface ScheduleControlResult {
  /** The id of the schedule. */
  readonly id: string
  /** True if the call took effect. */
  readonly accepted: boolean
  /** Why the call took no effect. */
  readonly reason?: string
}

/** Selects the schedules of `list`. */
export interface ScheduleFilter {
  /** The workflow that the schedules start. */
  readonly workflow?: string
  /** The most schedules of a page. Default 50, at most 1,000. */
  readonly limit?: number
  /** The `cursor` of the page before. Default: the first page. */
  readonly cursor?: string
}

/** A page of schedules. */
export interface SchedulePage {
  /** The schedules of this page, ordered by id. */
  readonly schedules: readonly ScheduleSummary[]
  /** The cursor of the next page. Absent on the last page. */
  readonly cursor?: string
}

/** A schedule in a list. */
export interface ScheduleSummary {
  /** Unique among schedules. */
  readonly id: string
  /** The name of the workflow that it starts. */
  readonly workflow: string
  /** The times as text for people: `every 5 minutes`, `0 2 * * * in Europe/Berlin`. */
  readonly times: string
  /** What happens at a time while an instance of the schedule has not ended. */
  readonly overlap: Overlap
  /** `ended` means that the schedule has no more times. */
  readonly status: "active" | "paused" | "ended"
  /** The first time that has not been fired, skipped or missed. */
  readonly nextAt?: number
  /** When it was created, in milliseconds since 1970. */
  readonly createdAt: number
  /** When the schedule last changed or fired, in milliseconds since 1970. */
  readonly updatedAt: number
}

/** Everything about a schedule. Times are in milliseconds since 1970. */
export interface ScheduleDescription extends ScheduleSummary {
  /** The input of its instances. */
  readonly input: unknown
  /** Its cron expression, if it has one. */
  readonly cron?: string
  /** The time zone of the cron expression. Absent: UTC. */
  readonly timeZone?: string
  /** Its interval, if it has one. */
  readonly everyMs?: number
  /** How late a time may be fired. Absent: only the latest time is fired, up to an hour late. */
  readonly catchUpMs?: number
  /** The timeout of each instance. */
  readonly timeoutMs?: number
  /** The tags of each instance. */
  readonly tags: readonly string[]
  /** The task queue of each instance. Absent: that of the workflow. */
  readonly taskQueue?: string
  /** No times before. */
  readonly startAt?: number
  /** The schedule has no times after this. */
  readonly endAt?: number
  /** Since when the schedule is paused, and why. Absent if it is not paused. */
  readonly paused?: { readonly at: number; readonly reason?: string }
  /** The next five times. */
  readonly nextTimes: readonly number[]
  /** The instance that was started last. */
  readonly lastFiring?: ScheduledInstance
  /** The last ten started instances, newest first. */
  readonly recent: readonly ScheduledInstance[]
  /** Times that wait for an instance to end, in the order in which they will start. */
  readonly waiting: readonly number[]
  /** How many times were fired, skipped and missed. */
  readonly counts: { readonly started: number; readonly skipped: number; readonly missed: number }
  /** Times that started nothing, with the reason, newest first. Consecutive times with the same reason are one item. */
  readonly unfired: readonly UnfiredTimes[]
  /** What the schedule waits for, in plain sentences. Empty if it only waits for its next time. */
  readonly because: readonly string[]
}

/** An instance that a schedule started. */
export interface ScheduledInstance {
  /** The id of the instance. */
  readonly id: string
  /** The scheduled time, in milliseconds since 1970. */
  readonly scheduledAt: number
  /** When it was started. */
  readonly startedAt: number
  /** The call that started it. Absent if the schedule fired by itself. */
  readonly by?: "trigger" | "backfill"
  /** The status of the instance. Absent if it is deleted. */
  readonly status?: Status
}

/** Times of a schedule that started nothing. */
export interface UnfiredTimes {
  /** `skipped`: another instance had not ended. `missed`: no worker was running. */
  readonly outcome: "skipped" | "missed"
  /** The first of these times. */
  readonly from: number
  /** The last of these times. */
  readonly to: number
  /** The number of these times. */
  readonly count: number
  /** The reason in plain words. */
  readonly reason: string
}
