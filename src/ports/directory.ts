import type { Status } from "../core/journal/status.ts"
import type { ChangeStream } from "./change-stream.ts"
import type { InstanceRow, JournalRow, NewMessage, Offer, Turn } from "./journal-store.ts"

/** What everybody may ask about instances, owner or not. */
export interface Directory extends ChangeStream {
  /** Puts messages into inboxes, in order and in one transaction. A PerdureError means that none was; of any other error nothing is known. */
  deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]>
  /**
   * Creates the instance if its id is free, and delivers the message either way, in one transaction. Nothing is created for an event that
   * the new instance would not take.
   */
  deliverOrCreate(message: NewMessage, create: Turn): Promise<Delivery | "created">
  get(id: string): Promise<InstanceRow | undefined>
  /** How an instance stands; undefined: there is none. Of a store where it is worth asking for many at the same moment: they are one question. */
  readonly statusWithEnding?: ((id: string) => Promise<StatusWithEnding | undefined>) | undefined
  list(filter: Filter, page: PageRequest): Promise<Page<InstanceRow>>
  count(filter: Filter, by: "status" | "workflow"): Promise<Record<string, number>>
  /** Workers that have a lease, and until when it lasts: also those whose lease is over and that nobody has missed yet. */
  workers(): Promise<readonly WorkerLease[]>
  /** Removes ended instances with all that belongs to them; answers the ids that it removed. Others stay. */
  remove(ids: readonly string[]): Promise<readonly string[]>
}

/**
 * `duplicate`: a message with that event id is unread already. `ended`: the instance takes no more messages. `unknown-event`: the message is
 * to be checked (`isChecked`), and the instance declares its events, but not this one.
 */
export type Delivery = "delivered" | "duplicate" | "ended" | "absent" | "unknown-event"

export interface StatusWithEnding {
  readonly status: Status
  /** Of one that is over: where its last run ended, and the row of its journal that holds that entry. */
  readonly end?: { readonly position: number; readonly rows: readonly JournalRow[] }
}

export interface WorkerLease {
  readonly worker: string
  readonly until: number
  /** What it executes, if it said so. */
  readonly offers?: readonly Offer[]
}

export interface Filter {
  readonly workflow?: string
  readonly version?: string
  readonly status?: readonly Status[]
  readonly tag?: string
  /** The task queue. */
  readonly queue?: string
  /** Created at or after, and before. */
  readonly since?: number
  readonly until?: number
  readonly idPrefix?: string
}

export interface PageRequest {
  readonly limit: number
  readonly order: "newest" | "oldest"
  /** Opaque: from the page before, with the same filter and order. */
  readonly cursor?: string
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly cursor?: string
}
