import type { Delivery } from "../directory.ts"
import type { TaskStore } from "../task-store.ts"
import type { ObjectTables, OutgoingMessage } from "./object-tables.ts"

/**
 * The tasks of one queue as its object stores them. A task comes as an order of its instance's object, and its ending goes there as a message of the outbox.
 * Everything but `tasks` is synchronous, and each method is one transaction.
 */
export interface TaskQueueRows extends Pick<ObjectTables, "isThere" | "prepare" | "outgoing" | "sent" | "sender" | "forget"> {
  readonly tasks: TaskStore
  /** Carries out orders of the object of an instance. An order that came before is a duplicate. */
  receive(from: string, orders: readonly OutgoingMessage[]): readonly Delivery[]
  /** When the next task will have to be ended. Undefined: no task has a limit of time. */
  nextExpiresAt(): number | undefined
  /** The index shard that lists the queue. Undefined: none does, or that is not known. */
  listedIn(): string | undefined
  setListedIn(shard: string | undefined): void
  /** When the storage may be deleted, if nothing more comes. Undefined: the queue has tasks, or endings to send. */
  emptyAt(): number | undefined
}
