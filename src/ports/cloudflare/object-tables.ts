import type { Status } from "../../core/journal/status.ts"
import type { Delivery } from "../directory.ts"
import type { IndexRemoval } from "./index-shard.ts"
import type { InstanceRow, JournalRow } from "../journal-store.ts"
import type { ObjectMessage } from "./task-order.ts"
import type { TurnObserver } from "./turn-observer.ts"

/**
 * The tables of a Durable Object beside its instance: the outbox, what it has received from other objects, refusals, and the index's progress.
 * Everything is synchronous, and each method is one transaction.
 */
export interface ObjectTables {
  /** Writes inside the transaction of a turn. */
  readonly turnObserver: TurnObserver
  /** False: nothing was ever written to the object, or everything was deleted. */
  isThere(): boolean
  /** Creates the tables that are missing. */
  prepare(): void
  /** The object's instance. Undefined: the object has none. */
  summary(): ObjectInstanceSummary | undefined
  /** Messages to other objects, except to the given ones, the oldest first. */
  outgoing(limit: number, except?: readonly string[]): readonly OutgoingMessage[]
  /** Removes messages that their targets have acknowledged. */
  sent(seqs: readonly number[]): void
  /** The name under which targets count this object's messages. It is new after the storage was deleted, because `seq` then starts again. */
  sender(): string
  /** Delivers messages from another object's outbox. A message that was sent before is a duplicate. */
  receive(from: string, messages: readonly OutgoingMessage[]): readonly Delivery[]
  /** Whether an instance with this incarnation must not be created: a control message for it came first, or it was a schedule's and is deleted. */
  isRefused(incarnation: string): boolean
  /** What the index has not acknowledged yet. */
  indexBacklog(): IndexBacklog
  /** The row of the instance, and its journal from a position on. */
  indexCopy(from: number): IndexCopy | undefined
  /** This shard has everything up to the revision, and no other shard lists the instance. */
  markIndexed(revision: number, shard: string): void
  /** The index has removed these instances. */
  markRemoved(removed: readonly IndexRemoval[]): void
  /** Stores that the instance is deleted and has to be removed from the index, beside those that wait for that already. */
  noteRemoval(instance: IndexRemoval): void
  /** When the last refused incarnation expires. Undefined: none is stored. */
  refusalsExpireAt(): number | undefined
  /** Removes refused incarnations that have expired. */
  dropExpired(): void
  /** The object's storage was deleted. */
  forget(): void
}

/** The part of the instance's row that the alarm needs. */
export interface ObjectInstanceSummary {
  readonly id: string
  readonly incarnation: string
  readonly status: Status
  readonly isOwned: boolean
  readonly hasMessages: boolean
  readonly dueAt?: number | undefined
  /** When the instance has to be claimed, if no worker owns it. */
  readonly claimableAt?: number | undefined
}

export interface OutgoingMessage {
  readonly seq: number
  readonly message: ObjectMessage
}

export interface IndexBacklog {
  /** The last position that the index has to learn of. Undefined: it has everything. */
  readonly pendingUpTo?: number | undefined
  /** The last position that the index has acknowledged. */
  readonly indexedUpTo: number
  /** The shard that lists the instance. */
  readonly shard?: string | undefined
  /** Deleted instances that the index may still list. There are several if the id was used again before the index answered. */
  readonly removed: readonly IndexRemoval[]
}

export interface IndexCopy {
  readonly row: InstanceRow
  readonly rows: readonly JournalRow[]
  /** The last position of the journal. */
  readonly revision: number
}
