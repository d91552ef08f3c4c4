/**
 * The tasks of a store. A task is one attempt of an activity that runs outside of its workflow's worker: it waits in a task queue until a process that
 * has the activity claims it. A turn writes the task together with the entry that starts the attempt, so there is a task if and only if the journal says so.
 *
 *   waiting ──claim──► claimed ──finish──► gone, and the ending is in the inbox of the instance
 *      │                  └──────expire──► gone, and the inbox says why
 *      └──expire──► gone (nobody claimed it in time), and the inbox says so
 *      any ──a turn of the instance ends it──► gone, without a message
 *
 * Every task ends by exactly one of these, because each deletes the row. So a late result of an attempt that has ended finds no row and changes nothing.
 * A claim has a token, which tells the claims of one task apart. Claims end by time alone; no argument about safety rests on that.
 */
export interface TaskStore {
  /** Gives waiting tasks to a worker, the oldest first. Tasks whose time is over are not given out. */
  claim(request: TaskClaim): Promise<readonly ClaimedTask[]>
  /** Renews claims, and records heartbeats. `gone`: another claim has the task, or it has ended; the process should stop working on it. */
  keep(claims: readonly KeptClaim[], leaseMs: number): Promise<readonly ("kept" | "gone")[]>
  /** Deletes the rows of tasks and puts their endings into the inboxes of their instances, in one transaction. `gone`: the claim has ended, and nothing is written. */
  finish(endings: readonly TaskEnding[]): Promise<readonly ("finished" | "gone")[]>
  /** Ends tasks whose time is over, at most `limit`, as `expiredEnding` describes. */
  expire(limit: number): Promise<ExpiredTasks>
  /** The tasks with these ids, in any order. Tasks that have ended are left out. */
  find(ids: readonly string[]): Promise<readonly TaskRow[]>
  /** The queues that have tasks, and how many. */
  depths(): Promise<readonly QueueDepth[]>
  /** Tells the other processes what this process claims, for `leaseMs`. 0: nothing from now on. */
  announce(worker: TaskWorkerInfo, leaseMs: number): Promise<void>
  /** The processes that claim tasks. */
  workers(): Promise<readonly TaskWorkerInfo[]>
}

/** The tasks that the object of an instance has sent to the objects of their queues. The other methods ask these objects. */
export interface SentTasks extends Pick<TaskStore, "find" | "depths" | "workers"> {
  /** Those of the given tasks that have not ended. */
  open(ids: readonly string[]): readonly string[]
}

/** A task as a turn writes it. The instance, its incarnation and the time are those of the turn. */
export interface NewTask {
  /** Unique in the store: the incarnation of the instance, the position of the step's first entry, and the number of the attempt. */
  readonly id: string
  /** The id of the step. */
  readonly step: string
  readonly attempt: number
  /** The name of the activity. */
  readonly activity: string
  readonly queue: string
  /** The same for all attempts of the activity: for services that must not act twice. */
  readonly key: string
  /** The input, encoded. */
  readonly input: string
  /** What the last heartbeat of the earlier attempts reported, encoded. */
  readonly details?: string
  /** How long the attempt may take after its claim. */
  readonly timeoutMs?: number
  /** How long the attempt may go without a heartbeat. */
  readonly heartbeatMs?: number
  /** Errors and log lines of the activity must not be shown. */
  readonly sensitive?: true
  /** When the task must have been claimed. */
  readonly startBy?: number
  /** When the activity must have ended. */
  readonly closeBy?: number
}

export interface TaskClaim {
  readonly worker: string
  /** Distinguishes this claim from all others. */
  readonly token: string
  /** Only tasks of these queues. Absent: of any queue. */
  readonly queues?: readonly string[]
  /** Only tasks of these activities. */
  readonly activities: readonly string[]
  readonly limit: number
  readonly leaseMs: number
  /** At most `max` tasks of the queue are claimed in `perMs`, over all processes. Then `queues` names exactly one queue. */
  readonly rate?: { readonly max: number; readonly perMs: number }
}

/** A task as its row has it. Times are those of the store's clock. */
export interface TaskRow extends NewTask {
  readonly instance: string
  readonly createdAt: number
  /** The claim; absent: the task is waiting. */
  readonly claim?: { readonly worker: string; readonly token: string; readonly claimedAt: number; readonly heartbeatAt: number }
}

export type ClaimedTask = TaskRow & Required<Pick<TaskRow, "claim">>

/** Names one claim of one task. */
export interface ClaimReference {
  readonly id: string
  readonly token: string
}

export interface KeptClaim extends ClaimReference {
  /** The activity has reported a heartbeat. Without `details` those of the last heartbeat stay. */
  readonly heartbeat?: { readonly details?: string }
}

export interface TaskEnding extends ClaimReference {
  /** JSON text of an object, the payload of the message. The store adds `details`, the last heartbeat, if the ending does not complete the activity. */
  readonly ending: string
  readonly completes: boolean
}

export interface ExpiredTasks {
  /** The instances that got a message. */
  readonly instances: readonly string[]
  /** When the next task will have to be ended. Absent: no task has a limit of time. */
  readonly nextAt?: number
}

export interface QueueDepth {
  readonly queue: string
  readonly waiting: number
  readonly claimed: number
  /** When the oldest waiting task was written. */
  readonly oldestAt?: number
}

export interface TaskWorkerInfo {
  readonly worker: string
  /** Absent: all queues. */
  readonly queues?: readonly string[]
  readonly activities: readonly string[]
}
