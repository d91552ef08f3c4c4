import type { Delivery } from "../../ports/directory.ts"
import type { IndexShard, ScheduleIndex } from "../../ports/index-shard.ts"
import type { InstanceRow, JournalRow, Message, NewMessage, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { LimitKey, SlotMember } from "../../ports/limit-key.ts"
import type { ObjectNetwork, ObjectPeer } from "../../ports/object-network.ts"
import type { OutgoingMessage } from "../../ports/object-tables.ts"
import type { Caller } from "./own-code.ts"
import type { ObjectNamespace } from "./platform.ts"

/** The calls that objects of the class answer, as their stubs have them. */
export interface RunnerStub extends IndexShard, ScheduleIndex, LimitKey {
  /** A method of the client of a schedule. */
  askSchedule(id: string, method: string, args: string): Promise<string>
  scheduleHint(): Promise<void>
  slotHint(): Promise<void>
  holdsSlot(member: SlotMember, key: string): Promise<boolean>
  /** A method of the client, with its arguments and its answer encoded. */
  ask(id: string, method: string, args: string, caller?: Caller): Promise<string>
  peerGet(id: string): Promise<InstanceRow | undefined>
  peerReadJournal(id: string, from: number): Promise<readonly JournalRow[]>
  peerReadInbox(id: string): Promise<readonly Message[]>
  peerCreate(turn: Turn): Promise<TurnOutcome>
  peerDeliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]>
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

/** Other objects of the class, through its own binding. */
export class StubNetwork implements ObjectNetwork {
  readonly #namespace: () => ObjectNamespace

  readonly #limitName: (key: string) => string

  /** `limitName`: what the object of a key is called. */
  constructor(namespace: () => ObjectNamespace, limitName: (key: string) => string) {
    this.#namespace = namespace
    this.#limitName = limitName
  }

  shard(name: string): IndexShard & ScheduleIndex {
    return stubOf(this.#namespace(), name)
  }

  limit(key: string): LimitKey {
    return stubOf(this.#namespace(), this.#limitName(key))
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
      readInbox: () => stub().peerReadInbox(name),
      create: (turn) => stub().peerCreate(turn),
      deliver: (messages) => stub().peerDeliver(messages),
      take: (from, messages) => stub().peerTake(from, messages),
    }
  }
}
