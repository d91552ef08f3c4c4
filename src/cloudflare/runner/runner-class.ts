import { DurableObject } from "cloudflare:workers"
import type { HistoryOptions, HistoryPage, ControlResult, RestartOptions, TerminateOptions, InstanceDescription } from "../../client-api/client-api.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
import type { Delivery, Page } from "../../ports/directory.ts"
import type { LimitOverride, LimitState } from "../../ports/flow-control.ts"
import type {
  IndexChangePage,
  IndexChangeRequest,
  IndexEntry,
  IndexFilter,
  IndexListRequest,
  IndexRemoval,
  IndexShard,
  IndexUpdate,
  ScheduleIndex,
  ScheduleListRequest,
  TaskQueueIndex,
} from "../../ports/cloudflare/index-shard.ts"
import type { InstanceRow, JournalRow, NewMessage, Turn, TurnOutcome } from "../../ports/journal-store.ts"
import type { SlotAnswer, SlotAsk, SlotMember } from "../../ports/cloudflare/limit-key.ts"
import type { LimitKeyEntry, LimitSetting } from "../../ports/cloudflare/limit-settings.ts"
import type { OutgoingMessage } from "../../ports/cloudflare/object-tables.ts"
import { isTaskOrder } from "../../stores/sqlite/object/tasks/is-task-order.ts"
import type { InstanceObject } from "../objects/instance-object.ts"
import type { ScheduleRow } from "../../ports/schedule-store.ts"
import type { ScheduleObject } from "../objects/schedule-object.ts"
import type { LimitObject } from "../objects/limit-object.ts"
import type { TaskQueueObject } from "../objects/task-queue-object.ts"
import type { LimitSettingsObject } from "../objects/limit-settings-object.ts"
import type { Caller } from "../objects/caller-scope.ts"
import { encodeAnswer } from "../objects/instance-rpc-methods.ts"
import type { ObjectRole } from "../store/object-name.ts"
import type { ObjectState } from "../platform/platform.ts"
import type { RunnerStub } from "../objects/object-rpc.ts"

/** The request of `initialize`, which starts an instance. */
export interface InitializeRequest {
  /** The name of the workflow. */
  readonly type: string
  /** The id of the instance, which is the name of the object. */
  readonly id: string
  /** The input of the instance. Default: undefined. */
  readonly payload?: unknown
  /** The version of the workflow. Default: the last registered. */
  readonly version?: string
}

/** The request of `deliverEvent`, which sends an event. */
export interface DeliverRequest {
  /** The type of the event. */
  readonly event: string
  /** The payload of the event. Default: undefined. */
  readonly payload?: unknown
  /** The id of the event. If two events have one id, the instance receives one of them. Default: none, so that each call sends an event of its own. */
  readonly eventId?: string
}

/** The RPC methods of the object of an instance. Values pass as structured clones; `workflowClient` carries every value that a journal can hold. */
export interface WorkflowRunnerObject extends RunnerStub {
  /** Answers as soon as the instance is durable. A second call with the same content changes nothing; one with other content throws. */
  initialize(request: InitializeRequest): Promise<{ readonly id: string }>
  /** The description of the instance, as `describe` of a handle returns it. Throws `NOT_FOUND`. */
  getStatus(): Promise<InstanceDescription>
  /** Sends an event, as `sendEvent` of a handle. Throws `INSTANCE_ENDED`, `INVALID_EVENT` or `UNKNOWN_EVENT`. */
  deliverEvent(request: DeliverRequest): Promise<void>
  /** Pauses the instance: running attempts finish, and nothing new starts until `resume`. */
  pause(options?: { readonly reason?: string }): Promise<ControlResult>
  /** Resumes an instance that is paused, or that is stalled and whose code was repaired. */
  resume(): Promise<ControlResult>
  /** Asks the workflow's code to end. The code may clean up until `cancelGrace` is over. */
  cancel(options?: { readonly reason?: string }): Promise<ControlResult>
  /** Ends the instance at once. None of its code runs any more. */
  terminate(options?: TerminateOptions): Promise<ControlResult>
  /** Starts a new run with the same input. Throws `UNKNOWN_STEP`. */
  restart(options?: RestartOptions): Promise<ControlResult>
  /** Calls a query handler of the workflow. A query changes nothing. Throws `UNKNOWN_QUERY`. */
  query(name: string, ...args: readonly unknown[]): Promise<unknown>
  /** The steps of the last run, as `steps` of a handle returns them. */
  getSteps(): Promise<readonly StepInfo[]>
  /** A page of journal entries, as `history` of a handle returns it. */
  getHistory(options?: HistoryOptions): Promise<HistoryPage>
  /** Handles the object's alarm. The platform calls it at the time that the object has set. */
  alarm(): Promise<void>
}

/** A class to be exported from a Worker, and bound as a Durable Object with SQLite storage. */
export type WorkflowRunnerClass = new (state: never, env: never) => WorkflowRunnerObject

/** The roles that an object of the class may have. The name of the object decides its role. The methods of the other roles throw, so no call writes an instance into a shard. */
export interface ObjectRoles {
  instance(): InstanceObject
  shard(): IndexShard
  /** The schedules that a shard lists. */
  shardSchedules(): ScheduleIndex
  /** The task queues that a shard lists. */
  shardTaskQueues(): TaskQueueIndex
  limit(): LimitObject
  limitSettings(): LimitSettingsObject
  schedule(): ScheduleObject
  taskQueue(): TaskQueueObject
  /** The role of this object. */
  kind(): ObjectRole["kind"]
}

/** The class of Durable Objects whose methods call the roles that `open` returns for one object. */
export function workflowRunnerClass(open: (state: ObjectState, env: unknown) => ObjectRoles): WorkflowRunnerClass {
  class WorkflowRunner extends DurableObject implements WorkflowRunnerObject {
    readonly #roles: ObjectRoles

    constructor(state: ObjectState, env: unknown) {
      super(state as never, env)
      this.#roles = open(state, env)
    }

    get #object(): InstanceObject {
      return this.#roles.instance()
    }

    async initialize({ type, id, payload, version }: InitializeRequest): Promise<{ readonly id: string }> {
      const options = { input: payload, ifExists: "return", ...(version === undefined ? undefined : { version }) }
      return { id: (await this.#object.call(id, "start", [type, options])) as string }
    }

    async getStatus(): Promise<InstanceDescription> {
      return this.#object.callOwn("describe")
    }

    async deliverEvent({ event, payload, eventId }: DeliverRequest): Promise<void> {
      return this.#object.callOwn("sendEvent", event, payload, eventId === undefined ? {} : { eventId })
    }

    async pause({ reason }: { readonly reason?: string } = {}): Promise<ControlResult> {
      return this.#object.callOwn("pause", reason)
    }

    async resume(): Promise<ControlResult> {
      return this.#object.callOwn("resume")
    }

    async cancel({ reason }: { readonly reason?: string } = {}): Promise<ControlResult> {
      return this.#object.callOwn("cancel", reason)
    }

    async terminate(options: TerminateOptions = {}): Promise<ControlResult> {
      return this.#object.callOwn("terminate", options)
    }

    async restart(options: RestartOptions = {}): Promise<ControlResult> {
      return this.#object.callOwn("restart", options)
    }

    async query(name: string, ...args: readonly unknown[]): Promise<unknown> {
      return this.#object.callOwn("query", name, args)
    }

    async getSteps(): Promise<readonly StepInfo[]> {
      return this.#object.callOwn("steps")
    }

    async getHistory(options: HistoryOptions = {}): Promise<HistoryPage> {
      return this.#object.callOwn("history", options)
    }

    async ask(id: string, method: string, args: string, caller?: Caller): Promise<string> {
      return this.#object.ask(id, method, args, caller)
    }

    async peerGet(id: string): Promise<InstanceRow | undefined> {
      return this.#object.get(id)
    }

    async peerReadJournal(id: string, from: number): Promise<readonly JournalRow[]> {
      return this.#object.readJournal(id, from)
    }

    async peerCreate(turn: Turn): Promise<TurnOutcome> {
      return this.#object.create(turn)
    }

    async peerDeliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]> {
      return this.#object.deliver(messages)
    }

    async peerReceive(from: string, messages: readonly OutgoingMessage[]): Promise<readonly Delivery[]> {
      const [first] = messages
      const isForQueue = first !== undefined && isTaskOrder(first.message)
      return isForQueue ? this.#roles.taskQueue().receive(from, messages) : this.#object.receive(from, messages)
    }

    async indexWrite(updates: readonly IndexUpdate[]): Promise<void> {
      return this.#roles.shard().indexWrite(updates)
    }

    async indexRemove(removals: readonly IndexRemoval[]): Promise<void> {
      return this.#roles.shard().indexRemove(removals)
    }

    async indexList(request: IndexListRequest): Promise<Page<IndexEntry>> {
      return this.#roles.shard().indexList(request)
    }

    async indexCount(filter: IndexFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
      return this.#roles.shard().indexCount(filter, by)
    }

    async indexChanges(request: IndexChangeRequest): Promise<IndexChangePage> {
      return this.#roles.shard().indexChanges(request)
    }

    async scheduleWrite(row: ScheduleRow): Promise<void> {
      return this.#roles.shardSchedules().scheduleWrite(row)
    }

    async scheduleRemove(schedule: { readonly id: string; readonly incarnation: string }): Promise<void> {
      return this.#roles.shardSchedules().scheduleRemove(schedule)
    }

    async scheduleList(request: ScheduleListRequest): Promise<Page<ScheduleRow>> {
      return this.#roles.shardSchedules().scheduleList(request)
    }

    async taskQueueWrite(queue: string): Promise<void> {
      return this.#roles.shardTaskQueues().taskQueueWrite(queue)
    }

    async taskQueueRemove(queue: string): Promise<void> {
      return this.#roles.shardTaskQueues().taskQueueRemove(queue)
    }

    async taskQueueList(): Promise<readonly string[]> {
      return this.#roles.shardTaskQueues().taskQueueList()
    }

    async askSchedule(id: string, method: string, args: string): Promise<string> {
      return encodeAnswer(() => this.#roles.schedule().call(id, method, args))
    }

    async scheduleHint(): Promise<void> {
      return this.#roles.schedule().hint()
    }

    async askTaskQueue(method: string, args: string): Promise<string> {
      return encodeAnswer(() => this.#roles.taskQueue().call(method, args))
    }

    async slotAsk(ask: SlotAsk): Promise<SlotAnswer> {
      return this.#roles.limit().slotAsk(ask)
    }

    async slotGive(member: SlotMember): Promise<void> {
      return this.#roles.limit().slotGive(member)
    }

    async slotHolder(): Promise<string | undefined> {
      return this.#roles.limit().slotHolder()
    }

    async limitsChanged(token: string, setting: LimitSetting): Promise<boolean> {
      return this.#roles.limit().limitsChanged(token, setting)
    }

    async limitsGet(workflow: string): Promise<readonly LimitState[]> {
      return this.#roles.limitSettings().limitsGet(workflow)
    }

    async limitsSet(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown"> {
      return this.#roles.limitSettings().limitsSet(workflow, changes)
    }

    async limitsJoin(key: LimitKeyEntry): Promise<LimitSetting> {
      return this.#roles.limitSettings().limitsJoin(key)
    }

    async limitsLeave(key: Pick<LimitKeyEntry, "key" | "token">): Promise<void> {
      return this.#roles.limitSettings().limitsLeave(key)
    }

    async slotHint(): Promise<void> {
      return this.#object.slotHint()
    }

    async holdsSlot(member: SlotMember, key: string): Promise<boolean> {
      return this.#object.holdsSlot(member, key)
    }

    async alarm(): Promise<void> {
      switch (this.#roles.kind()) {
        case "instance":
          return this.#roles.instance().alarm()
        case "schedule":
          return this.#roles.schedule().alarm()
        case "limit":
          return this.#roles.limit().alarm()
        case "limit-settings":
          return this.#roles.limitSettings().alarm()
        case "task-queue":
          return this.#roles.taskQueue().alarm()
        case "shard":
          return undefined
      }
    }
  }
  return WorkflowRunner
}
