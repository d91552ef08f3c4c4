import type { Duration } from "../core/time/duration.ts"
import type { Overlap } from "../core/time/schedule.ts"
import type { Status } from "../core/journal/status.ts"
import type { AnyWorkflow, EventMap, HandlersOf, InputOf, ResultOf, SentOf } from "../core/workflow/workflow.ts"
import type { Handle } from "./client-api.ts"

/** What every client can do with schedules. */
export interface ScheduleClient {
  /** Creates a schedule, which starts an instance at each of its times. Throws `SCHEDULE_EXISTS`, `BAD_SCHEDULE` or `INVALID_INPUT`. */
  create<W extends AnyWorkflow | string>(id: string, options: ScheduleOptionsOf<NoInfer<W>> & { readonly workflow: W }): Promise<ScheduleHandleOf<W>>
  /** A handle of a schedule: `get(id)`, or `get(workflow, id)` for one with the types of the workflow. It makes no request. */
  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): ScheduleHandleOf<W>
  /** A page of schedules, by id. */
  list(filter?: ScheduleFilter): Promise<SchedulePage>
}

/** One schedule. */
export interface ScheduleHandle<In = unknown, Out = unknown, Sent = EventMap, Handlers = unknown> {
  /** The id of the schedule. */
  readonly id: string
  /** All that is known of the schedule: its times, what became of them, and what comes next. Throws `SCHEDULE_NOT_FOUND`, as all calls do. */
  describe(): Promise<ScheduleDescription>
  /** What is left out stays as it is; null takes an option away. */
  update(changes: ScheduleUpdate<In>): Promise<void>
  /** Nothing fires until it is resumed. Times that come meanwhile are not caught up. */
  pause(reason?: string): Promise<ScheduleControlResult>
  /** Lets it fire again, from now on. */
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
  | {
      /** Minute, hour, day of the month, month and day of the week, as `"30 9 * * 1-5"`; with six fields, the second first. Also `@daily` and its like. */
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

/** When a schedule fires, and what it starts. */
export type ScheduleOptions<In> = ScheduleTimes &
  ScheduleInput<In> & {
    /** What a time does that comes while an instance of the schedule is not over. Default `"skip"`. */
    readonly overlap?: Overlap
    /** Times that nobody was there to fire are fired later if they are not older than this. Default: only the latest, up to an hour. */
    readonly catchUp?: Duration
    /** Texts to find each instance by. Default: none. */
    readonly tags?: readonly string[]
    /** How long each instance may take. Default: what the workflow says, else no limit. */
    readonly timeout?: Duration
    /** Default: what the workflow says, else `"default"`. */
    readonly taskQueue?: string
    /** No times before. The times of an interval are counted from here. Default: since 1970, so that "15m" is on the quarters of an hour. */
    readonly startAt?: Date | number | string
    /** No times after. Default: it fires for ever. */
    readonly endAt?: Date | number | string
    /** Creates it paused: nothing fires until it is resumed. Default false. */
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
type ScheduleInput<In> = undefined extends In
  ? {
      /** What each instance is given. */
      readonly input?: In
    }
  : [In] extends [void]
    ? { readonly input?: undefined }
    : { readonly input: In }

/** What of a schedule is to change. */
export type ScheduleUpdate<In = unknown> = Partial<ScheduleTimes> & {
  /** What instances are given from now on. */
  readonly input?: In
  /** What a time does that comes while an instance of the schedule is not over. */
  readonly overlap?: Overlap
  /** How old a time may be that is fired late. */
  readonly catchUp?: Duration | null
  /** Texts to find instances by from now on. */
  readonly tags?: readonly string[]
  /** How long an instance may take from now on. */
  readonly timeout?: Duration | null
  /** The queue of instances from now on. */
  readonly taskQueue?: string | null
  /** No times before. The times of an interval are counted from here. */
  readonly startAt?: Date | number | string | null
  /** No times after. */
  readonly endAt?: Date | number | string | null
}

/** Which times of the past are fired. */
export interface BackfillOptions {
  /** The first of them may be at this time. */
  readonly from: Date | number | string
  /** Included, as `from` is; not in the future. */
  readonly to: Date | number | string
  /** All at once, or one after another. Default: all at once only if the schedule itself allows it. */
  readonly overlap?: "allow" | "queue"
}

/** What became of one time of a backfill. */
export interface BackfilledFiring {
  /** Of the instance. */
  readonly id: string
  /** The time that it is for, in milliseconds since 1970. */
  readonly scheduledAt: number
  /** `queued`: it starts when those before it are over. */
  readonly outcome: "started" | "queued" | "exists"
}

/** `accepted: false`: nothing changed, and `reason` says why. */
export interface ScheduleControlResult {
  /** The id of the schedule. */
  readonly id: string
  /** Whether it took effect. */
  readonly accepted: boolean
  /** Why it did not. */
  readonly reason?: string
}

/** Which schedules to list. */
export interface ScheduleFilter {
  /** Only those that start this workflow. */
  readonly workflow?: string
  /** Default 50, at most 1,000. */
  readonly limit?: number
  /** From the page before. */
  readonly cursor?: string
}

/** A page of schedules. */
export interface SchedulePage {
  /** Ordered by id. */
  readonly schedules: readonly ScheduleSummary[]
  /** Leads to the next page; absent: this is the last. */
  readonly cursor?: string
}

/** A schedule in a list. */
export interface ScheduleSummary {
  /** Unique among schedules. */
  readonly id: string
  /** The name of the workflow that it starts. */
  readonly workflow: string
  /** For people: `every 5 minutes`, `0 2 * * * in Europe/Berlin`. */
  readonly times: string
  /** What a time does that comes while an instance of the schedule is not over. */
  readonly overlap: Overlap
  /** `ended`: no time is left. */
  readonly status: "active" | "paused" | "ended"
  /** The first time that has not been fired, skipped or missed. */
  readonly nextAt?: number
  /** When it was created, in milliseconds since 1970. */
  readonly createdAt: number
  /** When somebody last changed it, or it last fired. */
  readonly updatedAt: number
}

/** All that is known of a schedule. Times are in milliseconds since 1970. */
export interface ScheduleDescription extends ScheduleSummary {
  /** What its instances are given. */
  readonly input: unknown
  /** Its cron expression, if it has one. */
  readonly cron?: string
  /** The time zone of that; absent: UTC. */
  readonly timeZone?: string
  /** Its interval, if it has one. */
  readonly everyMs?: number
  /** How old a time may be that is fired late; absent: only the latest, up to an hour. */
  readonly catchUpMs?: number
  /** Of each instance. */
  readonly timeoutMs?: number
  /** Of each instance. */
  readonly tags: readonly string[]
  /** Of each instance; absent: what the workflow says. */
  readonly taskQueue?: string
  /** No times before. */
  readonly startAt?: number
  /** No times after. */
  readonly endAt?: number
  /** Since when it is paused, and why. */
  readonly paused?: { readonly at: number; readonly reason?: string }
  /** The next five. */
  readonly nextTimes: readonly number[]
  /** The instance that was started last. */
  readonly lastFiring?: ScheduledInstance
  /** Those started last, newest first. */
  readonly recent: readonly ScheduledInstance[]
  /** Times that wait for an instance to end, in the order in which they will start. */
  readonly waiting: readonly number[]
  /** How many times it has started an instance, was skipped, or was missed. */
  readonly counts: { readonly started: number; readonly skipped: number; readonly missed: number }
  /** Times that started nothing, and why: newest first, stretches of one reason together. */
  readonly unfired: readonly UnfiredTimes[]
  /** What it waits for, in plain sentences; empty where only the next time is waited for. */
  readonly because: readonly string[]
}

/** An instance that a schedule started. */
export interface ScheduledInstance {
  /** The id of the instance. */
  readonly id: string
  /** The time that it is for, in milliseconds since 1970. */
  readonly scheduledAt: number
  /** When it was started. */
  readonly startedAt: number
  /** Who asked for it; absent: the time came. */
  readonly by?: "trigger" | "backfill"
  /** Absent: it is deleted. */
  readonly status?: Status
}

/** Times of a schedule that started nothing. */
export interface UnfiredTimes {
  /** `skipped`: another instance was not over. `missed`: nobody was there to fire them. */
  readonly outcome: "skipped" | "missed"
  /** The first and the last of them. */
  readonly from: number
  /** The last of them. */
  readonly to: number
  /** How many they are. */
  readonly count: number
  /** Why, in plain words. */
  readonly reason: string
}
