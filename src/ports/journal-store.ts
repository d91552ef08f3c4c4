import type { ControlKind } from "../core/journal/control-message.ts"
import type { Phase, Status } from "../core/journal/status.ts"
import type { FlowTraits } from "./flow-control.ts"
import type { NewTask } from "./task-store.ts"

/**
 * Claims instances and writes their turns. Every method is one atomic operation. Safety rests on one fence: a turn begins at the position where the
 * journal ends, it names the turn that the journal ends with, and the journal's primary key is (instance, position). Leases only decide which worker tries.
 */
export interface JournalStore {
  /**
   * Gives instances to a worker and makes it their owner. An instance is claimable if it has no owner, if the worker offers its workflow, version and task
   * queue, and if it is due (`dueAt <= now`) or has unread messages. For a paused or stalled instance only control messages count.
   * The order is: highest priority first; within a priority, started instances before new starts (`queued`), except for `startsMin`; then the oldest due.
   * If there are more than the limit, instances of different limit keys alternate.
   * An instance with limits takes its slots with it, or is queued for a slot and not claimed; flow-control.ts names the exceptions.
   * Instances of a worker whose lease has ended count as unowned, and are returned with `crashed: true`. With `ids`, only these instances are considered.
   */
  claim(request: ClaimRequest): Promise<readonly ClaimedInstance[]>
  /** The ids of all instances that the worker owns. A worker that holds other instances in memory has lost them. */
  owned(worker: string): Promise<readonly string[]>
  /** The ids of instances that the worker owns and that have unread messages. */
  unread(worker: string, limit: number): Promise<readonly string[]>
  /**
   * Renews the lease of a worker, which covers all its instances. 0 ends the lease: its instances are then as after a crash. `offers`: the workflows that
   * it executes, for the directory; if they are absent, the offers of an earlier call stay.
   */
  renew(worker: string, leaseMs: number, offers?: readonly Offer[]): Promise<void>
  /** Releases instances without counting a crash. An instance that is `running` is due at once. */
  release(worker: string, ids: readonly string[]): Promise<void>
  /** Writes turns in one transaction. A lost turn writes nothing and does not affect the other turns. A store that locks rows sorts the turns first. */
  commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]>
  /** The rows of an instance whose last position is `from` or later, in order. */
  readJournal(id: string, from: number): Promise<readonly JournalRow[]>
  /** The unread messages of instances, in the order in which they were acknowledged to their senders: all of them, or those of `part`. */
  readInbox(ids: readonly string[], part?: InboxPart): Promise<readonly Message[]>
  /** When the next unowned instance of these offers is due. Undefined: none is. */
  nextDueAt(offers: readonly Offer[]): Promise<number | undefined>
}

/** A workflow and version that a worker can execute. */
export interface Offer {
  readonly workflow: string
  readonly version: string
  /** Only instances of these task queues. Absent: instances of any queue. */
  readonly queues?: readonly string[]
}

export interface ClaimRequest {
  readonly worker: string
  readonly offers: readonly Offer[]
  readonly limit: number
  /** How many new starts come before started instances of the same priority. So new starts get a share, even if many instances wake up. Absent: none. */
  readonly startsMin?: number
  readonly leaseMs: number
  readonly ids?: readonly string[]
}

export interface ClaimedInstance {
  readonly instance: InstanceRow
  /** The worker that owned the instance has died, or its lease has ended. */
  readonly crashed: boolean
}

/** The mutable columns of an instance's row. Only a turn with a new state changes them. */
export interface RowState {
  readonly status: Status
  readonly phase?: Phase
  /** When the instance has to be claimed, if no worker owns it. */
  readonly dueAt?: number
  /** When the instance has to be claimed even if it is queued for a slot, and then without slots: its timeout, or the end of its cancel's grace. */
  readonly deadlineAt?: number
  readonly owner?: string
  readonly run: number
  /** The position of the run's `run.started`. */
  readonly runPosition: number
  /** The position of the entry that ended the run. */
  readonly endPosition?: number
}

export interface NewInstance {
  readonly id: string
  readonly incarnation: string
  readonly workflow: string
  readonly version: string
  readonly createdAt: number
  readonly tags: readonly string[]
  /** The task queue. Absent: the queue with the name "default". */
  readonly queue?: string
  /** Absent: the instance has no limits, no unique keys, and priority 0. */
  readonly flow?: FlowTraits
  /** The event types that the workflow declares. Absent: the workflow declares none, and the instance accepts any event. */
  readonly events?: readonly string[]
}

export interface InstanceRow extends NewInstance, RowState {
  /** The time of the turn that last changed this row. */
  readonly updatedAt: number
  /** The memo that the code has set, encoded. */
  readonly memo?: string
  /** The slots of an instance with limits. `none`: it has not asked for slots, or has returned them. */
  readonly slots?: "taken" | "queuedForSlot" | "none"
}

/** One row of the journal: the entries of one turn. */
export interface JournalRow {
  /** The id of the turn. A turn that is committed a second time, after an unknown outcome, returns `committed`. */
  readonly turn: string
  /** The position of the first entry. The row ends at `position + count - 1`. */
  readonly position: number
  readonly count: number
  readonly run: number
  readonly at: number
  /** The entries, encoded: JSON text that stores do not look into. */
  readonly entries: string
  /** Large payloads, in the order in which the entries refer to them. A store cuts them into chunks of at most 1 MiB. */
  readonly blobs?: readonly string[] | undefined
}

/** One atomic advance of one instance. All its effects hang on its journal row being inserted at `position`. */
export interface Turn extends JournalRow {
  readonly instance: string
  readonly incarnation: string
  /**
   * The id of the turn that the journal ends with; undefined if this turn creates the instance. Positions alone cannot tell two histories apart: after a
   * failover that lost turns, another worker may have written other turns at the same positions.
   */
  readonly follows: string | undefined
  /** The turn creates the instance. It is lost if the id exists, or if another instance has one of the unique keys. Then `state` is given too. */
  readonly create?: NewInstance | undefined
  /** For a turn that creates: it is lost unless this run of the parent has not ended. So no child starts after its parent has ended. */
  readonly within?: RunReference | undefined
  /** The new state of the instance's row. Undefined: the row stays as it is. */
  readonly state?: RowState | undefined
  /** All tags of the instance from now on; `memo` is its encoded memo from now on. Undefined: they stay as they are. */
  readonly tags?: readonly string[] | undefined
  readonly memo?: string | undefined
  /** The consumed messages, by their `seq`. */
  readonly consumed?: readonly number[] | undefined
  /** The turn is lost if a message newer than this `seq` is unread: a timeout must not win against an acknowledged event. */
  readonly inboxSeen?: number | undefined
  /** Messages to other instances, delivered in the same transaction. A message to an ended or absent instance is dropped. */
  readonly sends?: readonly NewMessage[] | undefined
  /** Tasks that wait in their queues from this turn on. */
  readonly tasks?: readonly NewTask[] | undefined
  /** Tasks of the instance that end with this turn, by their ids, or all that the instance has. */
  readonly endsTasks?: readonly string[] | "all" | undefined
  /** The worker that writes the turn. If the instance has limits, the turn is lost unless this worker owns it: with the ownership its slots are lost too. */
  readonly by?: string | undefined
  /** The instance has ended, or another run has started: unread messages are dropped. */
  readonly discardInbox?: boolean | undefined
  /** The turn is lost unless the instance is queued and has no owner: the instance must not change once it has started. */
  readonly ifQueued?: boolean | undefined
}

/** One run of one instance. */
export interface RunReference {
  readonly instance: string
  readonly incarnation: string
  readonly run: number
}

/**
 * `lost`: the position is not the next one of the journal, the journal ends with another turn than `follows`, the id exists or a unique key is taken
 * (`create`), the run of `within` has ended, there is no instance with this incarnation, a newer message than `inboxSeen` is unread, or the instance is no
 * longer queued (`ifQueued`).
 */
export type TurnOutcome = "committed" | "lost"

/**
 * The kinds of messages. `child`: a child has ended, for the step that started it. `activity`: a task has ended, for its step. `update`: a request that gets
 * one answer.
 */
export type MessageKind = ControlKind | "event" | "child" | "activity" | "update"

export interface NewMessage {
  readonly instance: string
  /** Deliver only to this incarnation. An instance with the same id but another incarnation counts as absent. */
  readonly incarnation?: string
  readonly kind: MessageKind
  readonly at: number
  /** The event's type, the update's name, the step of the child or the activity, or the reason of a control message. */
  readonly topic?: string
  /** The event's payload, the update's arguments, or the ending of the child or the task, encoded. */
  readonly payload?: string
  /** The inbox has at most one unread message with this id; for `activity`, the id of the task. The owner refuses ids that its journal has. */
  readonly eventId?: string
  /** For an event: refuse it if the instance declares its events without this type. Absent: the event is delivered in any case. */
  readonly isChecked?: true
}

/** A part of an inbox, so that a long inbox is read in several calls. */
export interface InboxPart {
  /** For each instance, at its place in the list of ids: only messages with a higher `seq`. */
  readonly after: readonly number[]
  /** At most this many messages of each instance, the oldest first. */
  readonly limit: number
}

export interface Message extends Omit<NewMessage, "incarnation" | "isChecked"> {
  /** A number that grows in the order of acknowledgement. */
  readonly seq: number
}
