import type { Delivery } from "../directory.ts"
import type { InstanceRow, JournalRow, NewMessage, Turn, TurnOutcome } from "../journal-store.ts"
import type { TaskStore } from "../task-store.ts"
import type { LimitKey } from "./limit-key.ts"
import type { WorkflowLimitSettings } from "./limit-settings.ts"
import type { OutgoingMessage } from "./object-tables.ts"

/** The calls that one object makes to the object of an instance. */
export interface ObjectPeer {
  /** The row of the instance. Undefined: the instance does not exist. */
  get(): Promise<InstanceRow | undefined>
  /** Journal rows from a position on, as many as fit into one answer. None: the journal has no more. */
  readJournal(from: number): Promise<readonly JournalRow[]>
  /** Writes a turn that creates the instance. */
  create(turn: Turn): Promise<TurnOutcome>
  /** Writes messages into the inbox of the instance. */
  deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]>
  /** Delivers messages from another object's outbox. A message that was sent before is a duplicate. */
  receive(from: string, messages: readonly OutgoingMessage[]): Promise<readonly Delivery[]>
}

/** Finds other objects by their names. */
export interface ObjectNetwork {
  peer(name: string): ObjectPeer
  limit(key: string): LimitKey
  limitSettings(workflow: string): WorkflowLimitSettings
  /** What a task queue has. The inputs of tasks are left out. */
  taskQueue(queue: string): Pick<TaskStore, "find" | "depths" | "workers">
}
