import type { ControlKind } from "../core/journal/control-message.ts"
import type { Phase, Status } from "../core/journal/status.ts"
import type { FlowTraits } from "./flow-control.ts"

/**
 * What an engine needs of the instances it holds. Every method is one atomic operation. Safety rests on one fence: a turn
 * begins where the journal ends, names the turn that the journal ends with, and the journal's primary key is (instance, position).
 * Leases are hints for liveness only.
 */
export interface JournalStore {
  /**
   * Gives instances to a worker: those due (`dueAt <= now`), and those with unread messages (of a paused or
   * stalled instance: control messages only), that nobody owns and whose workflow, version and task queue it offers. The order is: highest
   * priority first; of one priority, instances that have begun before new starts (`queued`), but for `startsMin`; then oldest due.
   * Where there are more than the limit, those of different limit keys take turns.
   * One with limits takes its slots with it, or is parked and not given: flow-control.ts says when it comes without.
   * Instances of a worker whose lease is over count as owned by nobody, and come with `crashed: true`.
   * With `ids`, only these are looked at.
   */
  claim(request: ClaimRequest): Promise<readonly ClaimedInstance[]>
  /** Ids of all instances that the worker owns: what it holds beyond them was taken away from it. */
  owned(worker: string): Promise<readonly string[]>
  /** Ids of instances that the worker owns and that have unread messages. */
  unread(worker: string, limit: number): Promise<readonly string[]>
  /** Prolongs the lease of a worker, whatever the number of its instances. 0 gives it up: its instances are then as after a crash.
   * `offers`: what it executes, for whoever asks the directory; without them, what it said before counts. */
  renew(worker: string, leaseMs: number, offers?: readonly Offer[]): Promise<void>
  /** Gives instances back in good order: not a crash. One that is `running` is due at once. */
  release(worker: string, ids: readonly string[]): Promise<void>
  /** Writes turns, all of them in one transaction. A lost turn writes nothing and does not hinder the others. A store that locks rows sorts them first. */
  commit(turns: readonly Turn[]): Promise<readonly TurnOutcome[]>
  /** The turns of an instance whose last position is at or after `from`, in order. */
  readJournal(id: string, from: number): Promise<readonly JournalRow[]>
  /** Unread messages in the order in which their senders got them acknowledged: all of them, or those that `part` names. */
  readInbox(ids: readonly string[], part?: InboxPart): Promise<readonly Message[]>
  /** When the next unowned instance of these offers is due; undefined: none is. */
  nextDueAt(offers: readonly Offer[]): Promise<number | undefined>
}

/** A workflow and version that a worker can execute. */
export interface Offer {
  readonly workflow: string
  readonly version: string
  /** Only instances of these task queues; absent: of any. */
  readonly queues?: readonly string[]
}

export interface ClaimRequest {
  readonly worker: string
  readonly offers: readonly Offer[]
  readonly limit: number
  /** So many new starts go before those of the same priority that have begun; absent: none. So new starts get a share, however many wake up. */
  readonly startsMin?: number
  readonly leaseMs: number
  readonly ids?: readonly string[]
}

export interface ClaimedInstance {
  readonly instance: InstanceRow
  /** The worker that had it died, or its lease ran out. */
  readonly crashed: boolean
}

/** What the row of an instance says; it changes only with a turn that says so. */
export interface RowState {
  readonly status: Status
  readonly phase?: Phase
  /** When it wants to be claimed if nobody owns it. */
  readonly dueAt?: number
  /** When it wants to be claimed even if it is parked, and then without slots: its timeout, or the end of its cancel's grace. */
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
  /** Its task queue; absent: the default one, which is called "default". */
  readonly queue?: string
  /** Absent: it has no limits, no unique keys, and priority 0. */
  readonly flow?: FlowTraits
  /** The types of the events that it takes, as its workflow declares them; absent: the workflow declares none, and it takes any. */
  readonly events?: readonly string[]
}

export interface InstanceRow extends NewInstance, RowState {
  /** The time of the turn that last changed this row. */
  readonly updatedAt: number
  /** What its code noted about it, encoded. */
  readonly memo?: string
  /** Of an instance with limits. `none`: it has not asked for them, or has given them back. */
  readonly slots?: "taken" | "queuedForSlot" | "none"
}

/** One row of the journal: what one turn appended. */
export interface JournalRow {
  /** Names the turn: sending it again after an unknown outcome answers `committed`. */
  readonly turn: string
  /** Of its first entry. The row ends at `position + count - 1`. */
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
   * The id of the turn that the journal ends with; absent where this turn creates the instance. Positions alone do not tell two histories apart:
   * after a failover that lost turns, another worker may have written other turns at the same positions.
   */
  readonly follows: string | undefined
  /** The turn creates the instance: it is lost if the id exists, or another instance has one of its unique keys. `state` is given then. */
  readonly create?: NewInstance | undefined
  /** Of a turn that creates: it is lost unless that run is under way. So no child begins whose parent is over. */
  readonly within?: RunReference | undefined
  /** What the instance's row becomes; without it the row stays as it is. */
  readonly state?: RowState | undefined
  /** All the tags of the instance from now on, and what its memo is, encoded; without them both stay as they are. */
  readonly tags?: readonly string[] | undefined
  readonly memo?: string | undefined
  /** Messages taken in, by their `seq`. */
  readonly consumed?: readonly number[] | undefined
  /** Commit only while no message newer than this `seq` is unread: a timeout must not win against an acknowledged event. */
  readonly inboxSeen?: number | undefined
  /** Messages to other instances, delivered in the same transaction; those to one that is over or absent are dropped. */
  readonly sends?: readonly NewMessage[] | undefined
  /** The worker whose runner writes it. If the instance has limits, it is lost unless that worker owns it: without the lease, the slots are another's. */
  readonly by?: string | undefined
  /** The instance ended, or another run began: what is unread is dropped. */
  readonly discardInbox?: boolean | undefined
  /** Commit only while the instance is queued and nobody owns it: it is not to be changed once it begins. */
  readonly ifQueued?: boolean | undefined
}

/** One run of one instance. */
export interface RunReference {
  readonly instance: string
  readonly incarnation: string
  readonly run: number
}

/**
 * `lost`: the position is not the one after the last of the journal, the journal ends with another turn than `follows`, the id exists or a unique key is taken (create), the run that it
 * is `within` is over, the incarnation is gone, `inboxSeen` is overtaken, or it is not queued any more (`ifQueued`).
 */
export type TurnOutcome = "committed" | "lost"

/** `child`: the end of one, for the step that started it. `update`: a request that is answered once. */
export type MessageKind = ControlKind | "event" | "child" | "update"

export interface NewMessage {
  readonly instance: string
  /** Whom alone it is for: another that has the id counts as absent. */
  readonly incarnation?: string
  readonly kind: MessageKind
  readonly at: number
  /** The event's type, the update's name, the step that started the child; for controls the reason, if there is one. */
  readonly topic?: string
  /** The event's payload or the update's arguments, encoded; how the child ended. */
  readonly payload?: string
  /** De-duplicates unread messages of one instance; the owner de-duplicates against its journal. */
  readonly eventId?: string
  /** Of an event: it is refused if the instance declares its events, and not this one. Without it the event is delivered in any case. */
  readonly isChecked?: true
}

/** So that a long inbox is read once, and not at a stretch. */
export interface InboxPart {
  /** Of each instance, at its place in the list of ids: only messages whose `seq` is higher. */
  readonly after: readonly number[]
  /** Of each instance at most so many, the oldest. */
  readonly limit: number
}

export interface Message extends Omit<NewMessage, "incarnation" | "isChecked"> {
  /** Grows in the order of acknowledgement. */
  readonly seq: number
}
