import type { PerdureError } from "../core/errors.ts"
import type { CallerTransactions } from "./caller-transactions.ts"
import type { Directory } from "./directory.ts"
import type { FlowControl } from "./flow-control.ts"
import type { Logger } from "./host.ts"
import type { JournalStore, Message } from "./journal-store.ts"
import type { ScheduleStore } from "./schedule-store.ts"
import type { ClientTransactions, Transactions } from "./transactions.ts"

/** An open store. */
export interface Store {
  readonly journal: JournalStore
  readonly directory: Directory
  readonly schedules: ScheduleStore
  /** Undefined: the store has nothing that a user could write to. */
  readonly transactions?: Transactions | undefined
  /** In their place, where they are awaited. */
  readonly clientTransactions?: ClientTransactions | undefined
  /** Undefined: callers cannot have transactions in its database. */
  readonly callerTransactions?: CallerTransactions | undefined
  readonly flow: FlowControl
  /** Whether an engine on this store may execute now, or only ask. A client stands by and may become the worker later. */
  readonly role: StoreRole
  /** Tries to become the worker, if there may be only one and another process is it. */
  standBy(): Promise<StoreRole>
  /** Calls back when another process may have changed something; a hint that may be lost. Returns the way to stop. */
  onHint(listener: (hint?: Hint) => void): () => void
  /**
   * Of a store that hears messages with the hint of them. Calls back with one that was alone in its inbox. True: whoever runs its instance takes it in;
   * else a hint follows. Nobody knows whether it is still unread: a turn that takes it in is lost if it is not. Returns the way to stop.
   */
  onPushedMessage?(listener: (message: Message) => boolean): () => void
  /** Of a store that can vanish for good while it is open: calls back once when it has, and refuses every call from then on. Returns the way to stop. */
  onGone?(listener: (error: PerdureError) => void): () => void
  /** Of a store with a clock of its own, which decides what is due: whoever uses the store goes by it. */
  now?(): number
  /** Of a store that holds one instance only: whether this one is held by another, which writes its turns for us. */
  isRemote?(id: string): boolean
  /** Of a store that has one worker process at a time: whether there is one now. A dead one's leases may last longer. */
  hasWorker?(): boolean
  /** How often an engine looks for what no hint told of, where the user has not said. Undefined: as the engine likes. */
  readonly sweepMs?: number
  /** How many commits it works on at once, of different instances. Undefined: one. */
  readonly batchesMax?: number
  close(): Promise<void>
}

/** What a hint is about; without one it may be anything. */
export interface Hint {
  /** Something may be there to be claimed, or to be read by its owner: anything, or messages for these. */
  readonly work: boolean | readonly string[]
  /** Something may have ended: one of these, or anything. */
  readonly ends: boolean | readonly string[]
  /** An update may have been answered, or never will be. */
  readonly updatesAnswered: boolean
  /** Something was written to a journal. */
  readonly changed: boolean
}

export type StoreRole = "worker" | "client"

/** What `sqlite("app.db")` gives: a store that is not open yet. */
export interface StoreProvider {
  /** The kind of store, for messages, such as `"sqlite"`. */
  readonly name: string
  /** What is in it is lost when it is closed. */
  readonly isVolatile?: boolean
  /** Opens the store; the engine calls it. Throws where the store cannot be reached or read. */
  open(context: StoreContext): Promise<Store>
}

export interface StoreContext {
  /** The time that this process works by. */
  readonly now: () => number
  /** What the wall clock shows, which is less after it was set back. Default: the same. */
  readonly wallNow?: () => number
  /** Milliseconds since some moment of the past, whatever anybody does to the wall clock. Default: those of the platform. */
  readonly monotonicMs?: () => number
  readonly log: Logger
  /** `client`: never become the worker. */
  readonly role: StoreRole
}
