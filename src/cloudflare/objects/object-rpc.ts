import type { Delivery } from "../../ports/directory.ts"
import type { IndexShard, ScheduleIndex, TaskQueueIndex } from "../../ports/cloudflare/index-shard.ts"
import type { InstanceRow, JournalRow, NewMessage, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { LimitKey, SlotMember, LimitKeyListener } from "../../ports/cloudflare/limit-key.ts"
import type { WorkflowLimitSettings } from "../../ports/cloudflare/limit-settings.ts"
import type { ObjectNetwork, ObjectPeer } from "../../ports/cloudflare/object-network.ts"
import type { OutgoingMessage } from "../../ports/cloudflare/object-tables.ts"
import { limitName, limitSettingsName, taskQueueName } from "../store/object-name.ts"
import type { Caller } from "./caller-scope.ts"
import { askTaskQueue } from "./ask-task-queue.ts"
import type { TaskQueueMethod } from "./task-queue-object.ts"
import type { ObjectNamespace } from "../platform/platform.ts"

/** The RPC methods of an object of the class, as callers see them on its stub. */
export interface RunnerStub extends IndexShard, ScheduleIndex, TaskQueueIndex, LimitKey, LimitKeyListener, WorkflowLimitSettings {
  /** Calls a method of the schedule client, with arguments and result encoded. */
  askSchedule(id: string, method: string, args: string): Promise<string>
  /** Tells the object of a schedule that one of its instances may have ended. */
  scheduleHint(): Promise<void>
  /** Tells the object of an instance that a limit key may have a slot for it. */
  slotHint(): Promise<void>
  /** Asks the object of an instance whether it still has, or wants, the slot of this key. */
  holdsSlot(member: SlotMember, key: string): Promise<boolean>
  /** Calls a method of a task queue, with arguments and result encoded. */
  askTaskQueue(method: string, args: string): Promise<string>
  /** Calls a method of the client, with arguments and result encoded. */
  ask(id: string, method: string, args: string, caller?: Caller): Promise<string>
  /** The row of the object's instance. Undefined: the object has no such instance. */
  peerGet(id: string): Promise<InstanceRow | undefined>
  /** Rows of the journal of the object's instance from a position on, as many as fit into one answer. */
  peerReadJournal(id: string, from: number): Promise<readonly JournalRow[]>
  /** Writes the turn that creates the object's instance. */
  peerCreate(turn: Turn): Promise<TurnOutcome>
  /** Writes messages into the inbox of the object's instance. */
  peerDeliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]>
  /** Receives messages from the outbox of another object. Each message takes effect once. */
  peerReceive(from: string, messages: readonly OutgoingMessage[]): Promise<readonly Delivery[]>
}

export interface StubOptions {
  /** The region in which the platform creates an object that does not exist yet. */
  readonly locationHint?: string | undefined
}

export function stubOf(namespace: ObjectNamespace, name: string, { locationHint }: StubOptions = {}): RunnerStub {
  const id = namespace.idFromName(name) as never
  return (locationHint === undefined ? namespace.get(id) : namespace.get(id, { locationHint } as never)) as RunnerStub
}

/** Reaches other objects of the class through the Worker's binding. */
export class StubNetwork implements ObjectNetwork {
  readonly #namespace: () => ObjectNamespace

  constructor(namespace: () => ObjectNamespace) {
    this.#namespace = namespace
  }

  shard(name: string): IndexShard & ScheduleIndex & TaskQueueIndex {
    return stubOf(this.#namespace(), name)
  }

  limit(key: string): LimitKey {
    return this.limitKey(key)
  }

  limitKey(key: string): LimitKey & LimitKeyListener {
    return stubOf(this.#namespace(), limitName(key))
  }

  limitSettings(workflow: string): WorkflowLimitSettings {
    return stubOf(this.#namespace(), limitSettingsName(workflow))
  }

  taskQueue(queue: string): ReturnType<ObjectNetwork["taskQueue"]> {
    const ask = async <T>(method: TaskQueueMethod, ...args: readonly unknown[]) =>
      (await askTaskQueue(stubOf(this.#namespace(), taskQueueName(queue)), queue, method, ...args)) as T
    return { find: (ids) => ask("find", ids), depths: () => ask("depths"), workers: () => ask("workers") }
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
      receive: (from, messages) => stub().peerReceive(from, messages),
    }
  }
}
