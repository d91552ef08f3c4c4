import { PerdureError } from "../core/errors.ts"
import type { Duration } from "../core/time/duration.ts"

/**
 * Claims and ends activities without an engine of one's own. A worker in any language does this over HTTP. All calls but `claim` throw `STALE_TASK` once the
 * claim is over; the call then changes nothing. All calls throw `NO_TASK_QUEUES` on a store without task queues.
 */
export interface TaskControl {
  /**
   * Claims activities that wait in a task queue, the oldest first. Resolves with an empty list if none waits, or if none comes within `wait`.
   *
   * @example
   * for (const task of await client.tasks.claim("warehouse", { worker: "press-1", activities: ["reserve"], wait: "30s" }))
   *   await client.tasks.complete(task, await reserve(String(task.input)))
   */
  claim(queue: string, options: ClaimOptions): Promise<readonly ClaimedActivity[]>
  /** Keeps the claim for another `leaseMs`, and reports that the activity is alive. The next attempt gets the last `details`. */
  heartbeat(task: TaskReference, options?: HeartbeatOptions): Promise<void>
  /** Ends the activity with its result. */
  complete(task: TaskReference, result?: unknown): Promise<void>
  /** Ends the attempt with an error. Another attempt follows if the workflow asks for more, unless `retryable` is false. */
  fail(task: TaskReference, error: unknown, options?: FailOptions): Promise<void>
}

/** Options of `tasks.claim`. */
export interface ClaimOptions {
  /** A name that tells this worker and its queue from all others, such as the name of the machine. `queues` and `why` show it. */
  readonly worker: string
  /** The names of the activities that the worker has. */
  readonly activities: readonly string[]
  /** How many activities to claim at most, from 1 to 100. Default 1. */
  readonly max?: number
  /** How long to wait for an activity. Default: not at all. */
  readonly wait?: Duration
  /** Ends the wait. */
  readonly signal?: AbortSignal
}

/** Options of `tasks.heartbeat`. */
export interface HeartbeatOptions {
  /** How far the activity has come. Default: what the last heartbeat reported stays. */
  readonly details?: unknown
  /** Only keeps the claim: the worker is alive, but the activity has reported nothing, so its `heartbeatTimeout` goes on. Default false. */
  readonly renew?: boolean
}

/** Options of `tasks.fail`. */
export interface FailOptions {
  /** False: no further attempt can help, so the activity fails. Default: true, except for a `NonRetryableError`. */
  readonly retryable?: boolean
}

/** Names one claim of one activity. */
export interface TaskReference {
  /** The id of the attempt. */
  readonly id: string
  /** The token of the claim. */
  readonly token: string
}

/** A claimed activity, as `tasks.claim` returns it. */
export interface ClaimedActivity extends TaskReference {
  /** The name of the activity. */
  readonly activity: string
  /** The task queue that it waited in. */
  readonly queue: string
  /** The number of the attempt, from 1 on. */
  readonly attempt: number
  /** The input of the activity. Absent: it has none. */
  readonly input?: unknown
  /** What the last heartbeat of the earlier attempts reported. Absent: there was none. */
  readonly lastHeartbeat?: unknown
  /** The id of the instance whose workflow asked for the activity. */
  readonly instance: string
  /** The id of the step in the instance. */
  readonly step: string
  /** A key that is the same for every attempt of this activity, for services that must not act twice. */
  readonly idempotencyKey: string
  /** The claim ends this long after the last heartbeat. */
  readonly leaseMs: number
  /** How long the attempt may take. Absent: as long as it wants. */
  readonly timeoutMs?: number
  /** How long the attempt may go without a heartbeat. Absent: only `leaseMs` counts. */
  readonly heartbeatTimeoutMs?: number
}

/** A task queue. */
export interface QueueInfo {
  /** The name of the queue. */
  readonly queue: string
  /** How many activities wait in it. */
  readonly waiting: number
  /** How many activities of it are running. */
  readonly claimed: number
  /** Since when the oldest activity waits. Absent: none waits. */
  readonly oldestAt?: number
  /** The workers that take activities from it. */
  readonly workers: readonly QueueWorker[]
}

/** A worker of a task queue. */
export interface QueueWorker {
  /** The name of the worker. */
  readonly worker: string
  /** The names of the activities that it has. */
  readonly activities: readonly string[]
}

export function noTaskQueues(): PerdureError {
  return new PerdureError("NO_TASK_QUEUES", "this store has no task queues: its activities run where their workflows run; use SQLite or PostgreSQL")
}

export function staleTask(id: string): PerdureError {
  return new PerdureError("STALE_TASK", `the claim of task "${id}" is over: it has ended, it was cancelled, or another worker has it; stop working on it`, {
    details: { task: id },
  })
}
