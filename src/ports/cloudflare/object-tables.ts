import type { Status } from "../../core/journal/status.ts"
import type { Delivery } from "../directory.ts"
import type { IndexRemoval } from "./index-shard.ts"
import type { InstanceRow, JournalRow, NewMessage } from "../journal-store.ts"
import type { TurnObserver } from "./turn-observer.ts"

/**
 * What a Durable Object keeps beside its instance: what it has to tell other objects, and what they have told it. Everything is
 * synchronous, and each method is one transaction.
 */
export interface ObjectTables {
  /** Writes within the transaction of a turn. */
  readonly turnObserver: TurnObserver
  /** False: nothing was ever written here, or all of it was deleted. */
  isThere(): boolean
  /** Makes the tables that are not there. */
  prepare(): void
  /** The one instance of the object; undefined: there is none. */
  summary(): ObjectInstanceSummary | undefined
  /** Messages to other objects but these, the oldest first. */
  outgoing(limit: number, except?: readonly string[]): readonly OutgoingMessage[]
  /** Those have them. */
  sent(seqs: readonly number[]): void
  /** Names this object to others, in one life: after all was deleted, it counts anew. */
  sender(): string
  /** Takes in what another object has sent; what it sends again is a duplicate. */
  take(from: string, messages: readonly OutgoingMessage[]): readonly Delivery[]
  /** Whether an instance with that incarnation must not begin: whoever wanted it is over. */
  isRefused(incarnation: string): boolean
  /** What the index is to be told. */
  indexNews(): IndexNews
  /** The instance as it is, and its journal from a position on. */
  indexCopy(from: number): IndexCopy | undefined
  /** This shard has all up to there, and no other has it. */
  indexed(revision: number, shard: string): void
  /** The index has heard that these are deleted. */
  unindexed(removed: readonly IndexRemoval[]): void
  /** The instance is deleted; the index is yet to hear of it, and of those that were deleted before it. */
  removed(instance: IndexRemoval): void
  /** Until when something is kept that only a while is worth it. */
  keptUntil(): number | undefined
  /** That while may be over. */
  dropOld(): void
  /** All was deleted. */
  forget(): void
}

/** What the alarm goes by. */
export interface ObjectInstanceSummary {
  readonly id: string
  readonly incarnation: string
  readonly status: Status
  readonly isOwned: boolean
  readonly hasMessages: boolean
  readonly dueAt?: number | undefined
  /** When it wants to be claimed, if nobody owns it. */
  readonly claimableAt?: number | undefined
}

export interface OutgoingMessage {
  readonly seq: number
  readonly message: NewMessage
}

export interface IndexNews {
  /** Of the last turn that changed what the index shows; undefined: it has heard of all. */
  readonly pendingUpTo?: number | undefined
  /** How far it has heard. */
  readonly indexedUpTo: number
  /** The shard that has heard of it. */
  readonly shard?: string | undefined
  /** Deleted instances that it may still list: of several incarnations, where the id was used again before the index answered. */
  readonly removed: readonly IndexRemoval[]
}

export interface IndexCopy {
  readonly row: InstanceRow
  readonly rows: readonly JournalRow[]
  /** The end of its journal. */
  readonly revision: number
}
