import type { Status } from "../core/journal/status.ts"
import type { ChangeStream } from "./change-stream.ts"
import type { InstanceRow, JournalRow, NewMessage, Offer, Turn } from "./journal-store.ts"

/** Reads instances and delivers messages. Any process may call it, whether or not it owns the instance. */
export interface Directory extends ChangeStream {
  /** Adds messages to inboxes, in order and in one transaction. A PerdureError means that none was added. After any other error the outcome is unknown. */
  deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]>
  /**
   * Creates the instance if its id is free, and delivers the message in any case, in one transaction. Nothing is created for an event that the new
   * instance does not declare.
   */
  deliverOrCreate(message: NewMessage, create: Turn): Promise<Delivery | "created">
  get(id: string): Promise<InstanceRow | undefined>
  /** The status of an instance, and its last entry if it has ended. Undefined: there is no such instance. A store offers this if it can batch concurrent calls. */
  readonly statusWithEnding?: ((id: string) => Promise<StatusWithEnding | undefined>) | undefined
  list(filter: Filter, page: PageRequest): Promise<Page<InstanceRow>>
  count(filter: Filter, by: "status" | "workflow"): Promise<Record<string, number>>
  /** Workers with a lease, and the end of the lease. Workers whose lease has ended are listed until another worker has taken note of it. */
  workers(): Promise<readonly WorkerLease[]>
  /** Removes ended instances with their journals, and returns the ids that were removed. Instances that have not ended stay. */
  remove(ids: readonly string[]): Promise<readonly string[]>
}

/**
 * The outcome of a delivery. `duplicate`: the inbox has an unread message with this event id. `ended`: the instance accepts no more messages.
 * `absent`: there is no such instance. `unknown-event`: the message has `isChecked`, and the instance declares its events without this type.
 */
export type Delivery = "delivered" | "duplicate" | "ended" | "absent" | "unknown-event"

export interface StatusWithEnding {
  readonly status: Status
  /** For an ended instance: the position of the entry that ended its last run, and the journal row that has this entry. */
  readonly end?: { readonly position: number; readonly rows: readonly JournalRow[] }
}

export interface WorkerLease {
  readonly worker: string
  readonly until: number
  /** The workflows that the worker executes, if it has told the store. */
  readonly offers?: readonly Offer[]
}

export interface Filter {
  readonly workflow?: string
  readonly version?: string
  readonly status?: readonly Status[]
  readonly tag?: string
  /** The task queue of the instances. */
  readonly queue?: string
  /** Instances created at `since` or later, and before `until`. */
  readonly since?: number
  readonly until?: number
  readonly idPrefix?: string
}

export interface PageRequest {
  readonly limit: number
  readonly order: "newest" | "oldest"
  /** The cursor of the page before, which had the same filter and order. Callers do not interpret it. */
  readonly cursor?: string
}

export interface Page<T> {
  readonly items: readonly T[]
  readonly cursor?: string
}
