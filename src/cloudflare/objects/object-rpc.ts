import type { Delivery } from "../../ports/directory.ts"
import type { IndexShard, ScheduleIndex } from "../../ports/cloudflare/index-shard.ts"
import type { InstanceRow, JournalRow, NewMessage, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { LimitKey, SlotMember, LimitKeyListener } from "../../ports/cloudflare/limit-key.ts"
import type { WorkflowLimitSettings } from "../../ports/cloudflare/limit-settings.ts"
import type { ObjectNetwork, ObjectPeer } from "../../ports/cloudflare/object-network.ts"
import type { OutgoingMessage } from "../../ports/cloudflare/object-tables.ts"
import type { Caller } from "./caller-scope.ts"
import type { ObjectNamespace } from "../platform/platform.ts"

/** The calls that objects of the class answer, as their stubs have them. */
export interface RunnerStub extends IndexShard, ScheduleIndex, LimitKey, LimitKeyListener, WorkflowLimitSettings {
  /** A method of the client of a schedule. */
  askSchedule(id: string, method: string, args: string): Promise<string>
  /** To the object of a schedule: an instance of it may be over. */
  scheduleHint(): Promise<void>
  /** To the object of an instance: a limit may let it in. */
  slotHint(): Promise<void>
  /** To the object of an instance: whether it still has the slot of this key. */
  holdsSlot(member: SlotMember, key: string): Promise<boolean>
  /** A method of the client, with its arguments and its answer encoded. */
  ask(id: string, method: string, args: string, caller?: Caller): Promise<string>
  /** The row of its instance; undefined: it has none. */
  peerGet(id: string): Promise<InstanceRow | undefined>
  /** Rows of the journal of its instance, from a position on: as many as fit into one answer. */
  peerReadJournal(id: string, from: number): Promise<readonly JournalRow[]>
  /** Writes the turn that creates its instance. */
  peerCreate(turn: Turn): Promise<TurnOutcome>
  /** Writes messages into the inbox of its instance. */
  peerDeliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]>
  /** Takes in what the outbox of another object sends, each message once. */
  peerTake(from: string, messages: readonly OutgoingMessage[]): Promise<readonly Delivery[]>
}

export interface StubOptions {
  /** Where an object that does not exist yet is to be made. */
  readonly locationHint?: string | undefined
}

export function stubOf(namespace: ObjectNamespace, name: string, { locationHint }: StubOptions = {}): RunnerStub {
  const id = namespace.idFromName(name) as never
  return (locationHint === undefined ? namespace.get(id) : namespace.get(id, { locationHint } as never)) as RunnerStub
}

/** What the object of a limit's key is called, and that of what was set for a workflow. */
export interface ObjectNames {
  limit(key: string): string
  limitSettings(workflow: string): string
}

/** Other objects of the class, through its own binding. */
export class StubNetwork implements ObjectNetwork {
  readonly #namespace: () => ObjectNamespace
  readonly #names: ObjectNames

  constructor(namespace: () => ObjectNamespace, names: ObjectNames) {
    this.#namespace = namespace
    this.#names = names
  }

  shard(name: string): IndexShard & ScheduleIndex {
    return stubOf(this.#namespace(), name)
  }

  limit(key: string): LimitKey {
    return this.limitKey(key)
  }

  limitKey(key: string): LimitKey & LimitKeyListener {
    return stubOf(this.#namespace(), this.#names.limit(key))
  }

  limitSettings(workflow: string): WorkflowLimitSettings {
    return stubOf(this.#namespace(), this.#names.limitSettings(workflow))
  }

  async scheduleEnded(name: string): Promise<void> {
    await stubOf(this.#namespace(), name).scheduleHint()
  }

  member(id: string): Pick<RunnerStub, "slotHint" | "holdsSlot"> {
    return stubOf(this.#namespace(), id)
  }

  peer(name: string): ObjectPeer {
    const stub = () => stubOf(this.#namespace(), name)
    return {
      get: () => stub().peerGet(name),
      readJournal: (from) => stub().peerReadJournal(name, from),
      create: (turn) => stub().peerCreate(turn),
      deliver: (messages) => stub().peerDeliver(messages),
      take: (from, messages) => stub().peerTake(from, messages),
    }
  }
}
