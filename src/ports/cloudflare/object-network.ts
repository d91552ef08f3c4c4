import type { Delivery } from "../directory.ts"
import type { InstanceRow, JournalRow, NewMessage, Turn, TurnOutcome } from "../journal-store.ts"
import type { LimitKey } from "./limit-key.ts"
import type { WorkflowLimitSettings } from "./limit-settings.ts"
import type { OutgoingMessage } from "./object-tables.ts"

/** What objects of the class answer to each other. */
export interface ObjectPeer {
  get(): Promise<InstanceRow | undefined>
  /** As many rows as fit into one answer. */
  readJournal(from: number): Promise<readonly JournalRow[]>
  /** A turn that creates its instance. */
  create(turn: Turn): Promise<TurnOutcome>
  deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]>
  take(from: string, messages: readonly OutgoingMessage[]): Promise<readonly Delivery[]>
}

/** Finds other objects by their names. */
export interface ObjectNetwork {
  peer(name: string): ObjectPeer
  limit(key: string): LimitKey
  limitSettings(workflow: string): WorkflowLimitSettings
}
