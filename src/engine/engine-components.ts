import type { DueTimes } from "./runner/due-times.ts"
import type { WorkflowSource } from "../core/workflow/workflow-source.ts"
import type { Host } from "../ports/host.ts"
import type { Store, StoreProvider, StoreRole } from "../ports/store.ts"
import type { UpdateWaiters } from "./instances/update-waiters.ts"
import type { ChangeFeed } from "./changes/change-feed.ts"
import type { ClaimingWorker } from "./worker/claiming-worker.ts"
import type { QueryUpdateClient } from "./instances/query-update-client.ts"
import type { InstanceControls } from "./instances/instance-controls.ts"
import type { ResultWaiters } from "./instances/result-waiters.ts"
import type { InstanceReader } from "./instances/instance-reader.ts"
import type { Restarts } from "./instances/restarts.ts"
import type { WorkflowRegistry } from "./workflow-registry.ts"
import type { ScheduleWriter } from "./schedules/schedule-writer.ts"
import type { Scheduler } from "./schedules/scheduler.ts"
import type { EngineOptions, EngineSettings, WorkBudget } from "./settings.ts"
import type { InstanceStarter } from "./instances/instance-starter.ts"
import type { TaskWorker } from "./tasks/task-worker.ts"
import type { Worker } from "./worker/worker.ts"

export interface EngineSpec {
  readonly host: Host
  readonly store: StoreProvider
  /** A registry can be shared by many engines. */
  readonly workflows: readonly WorkflowSource[] | WorkflowRegistry
  readonly options: EngineOptions
  /** `client`: the engine never executes. */
  readonly role?: StoreRole
  /** The engine executes no more than this. */
  readonly budget?: WorkBudget
  /** Changes when timers are due, for tests. */
  readonly dueTimes?: DueTimes
}

/** The components that exist before the listeners of an engine are constructed. */
export interface WorkerComponents<W extends Worker = Worker> {
  readonly host: Host
  readonly store: Store
  readonly settings: EngineSettings
  readonly registry: WorkflowRegistry
  readonly worker: W
}

/** The components of every engine, also of the engine in a Durable Object. */
export interface CoreComponents<W extends Worker = Worker> extends WorkerComponents<W> {
  readonly resultWaiters: ResultWaiters
  readonly starter: InstanceStarter
  readonly controls: InstanceControls
}

/** The components of an engine that has schedules. */
export interface SchedulingComponents<W extends Worker = Worker> extends CoreComponents<W> {
  readonly scheduleWriter: ScheduleWriter
  readonly scheduler: Scheduler
}

/** The components of an engine with the API of a client. */
export interface EngineComponents extends SchedulingComponents<ClaimingWorker> {
  readonly reader: InstanceReader
  readonly restarts: Restarts
  readonly updateWaiters: UpdateWaiters
  readonly queryUpdateClient: QueryUpdateClient
  readonly changes: ChangeFeed
  /** Undefined: the engine claims no tasks. */
  readonly taskWorker: TaskWorker | undefined
}
