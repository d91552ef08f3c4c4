import type { PerdureError } from "../core/errors.ts"
import type { CallerTransactions } from "./caller-transactions.ts"
import type { Directory } from "./directory.ts"
import type { FlowControl } from "./flow-control.ts"
import type { Logger } from "./host.ts"
import type { JournalStore, Message } from "./journal-store.ts"
import type { ScheduleStore } from "./schedule-store.ts"
import type { SentTasks, TaskStore } from "./task-store.ts"
import type { ClientTransactions, Transactions } from "./transactions.ts"

/** An open store. */
export interface Store {
  readonly journal: JournalStore
  readonly directory: Directory
  readonly schedules: ScheduleStore
  /** Transactions with synchronous SQL. Undefined: users cannot write to the store's database in this way. */
  readonly transactions?: Transactions | undefined
  /** Transactions with an asynchronous client, in place of `transactions`. */
  readonly clientTransactions?: ClientTransactions | undefined
  /** Transactions of callers. Undefined: callers cannot have transactions in the store's database. */
  readonly callerTransactions?: CallerTransactions | undefined
  readonly flow: FlowControl
  /** Undefined: the store has no task queues, and activities run where their workflow runs. */
  readonly tasks?: TaskStore | undefined
  /** For the store of one Durable Object, which sends its tasks to other objects. Such a store has no `tasks`: nobody claims them there. */
  readonly sentTasks?: SentTasks | undefined
  /** Whether an engine on this store may execute workflows now. A client stands by, and may become the worker later. */
  readonly role: StoreRole
  /** Tries to become the worker, on a store that allows one worker process. Returns the role from now on. */
  standBy(): Promise<StoreRole>
  /** Calls back when another process may have changed something. Hints may get lost. Returns the function that stops this. */
  onHint(listener: (hint?: Hint) => void): () => void
  /**
   * For a store whose notifications carry messages. Calls back with a message that was alone in its inbox. True: the listener hands it to the instance's
   * runner; false: a hint follows. The message may no longer be unread; then the turn that consumes it is lost. Returns the function that stops this.
   */
  onPushedMessage?(listener: (message: Message) => boolean): () => void
  /** For a store that can vanish while it is open. Calls back once when that has happened; from then on the store refuses every call. Returns the function that stops this. */
  onGone?(listener: (error: PerdureError) => void): () => void
  /** The time of a store that has its own clock, which decides what is due. An engine on this store uses this time. */
  now?(): number
  /** For the store of one Durable Object: whether the instance belongs to another object, which writes its turns. */
  isRemote?(id: string): boolean
  /** For a store with one worker process at a time: whether there is one now. The lease of a dead worker may last longer. */
  hasWorker?(): boolean
  /** The interval of sweeps, if the user has set none. Undefined: the engine's default. */
  readonly sweepMs?: number
  /** How many batches of commits the store accepts at once. Undefined: one. */
  readonly batchesMax?: number
  close(): Promise<void>
}

/** The content of a hint. A hint without content may be about anything. */
export interface Hint {
  /** There may be instances to claim or messages to read. A list names the instances that have messages. */
  readonly work: boolean | readonly string[]
  /** An instance may have ended: one of the list, or any. */
  readonly ends: boolean | readonly string[]
  /** An update may have its result, or may never get one. */
  readonly updatesAnswered: boolean
  /** A journal has new rows. */
  readonly changed: boolean
  /** There may be tasks to claim. */
  readonly tasks?: boolean
}

export type StoreRole = "worker" | "client"

/** A store that is not open yet, as `sqlite("app.db")` returns it. */
export interface StoreProvider {
  /** The kind of store, for messages, such as `"sqlite"`. */
  readonly name: string
  /** The store loses its content when it is closed. */
  readonly isVolatile?: boolean
  /** One process at a time executes the workflows of the store. A process that only runs activities opens it as a client, and leaves that to another one. */
  readonly hasOneWorker?: boolean
  /** Opens the store; the engine calls it. Throws if the store cannot be reached or read. */
  open(context: StoreContext): Promise<Store>
}

export interface StoreContext {
  /** The time of this process, which never goes back. */
  readonly now: () => number
  /** The time of the wall clock, which is less than `now` after it was set back. Default: `now`. */
  readonly wallNow?: () => number
  /** Milliseconds since some moment of the past, unaffected by changes of the wall clock. Default: the platform's. */
  readonly monotonicMs?: () => number
  readonly log: Logger
  /** `client`: the store must never become the worker. */
  readonly role: StoreRole
}
