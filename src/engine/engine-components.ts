import type { WorkflowSource } from "../core/workflow/workflow-source.ts"
import type { Host } from "../ports/host.ts"
import type { Store, StoreProvider, StoreRole } from "../ports/store.ts"
import type { UpdateWaiters } from "./instances/update-waiters.ts"
import type { ChangeFeed } from "./changes/change-feed.ts"
import type { ClaimingWorker } from "./worker/claiming-worker.ts"
import type { QueryUpdateClient } from "./instances/query-update-client.ts"
import type { InstanceControls } from "./instances/instance-controls.ts"
import type { ResultWaiters } from "./instances/result-waiters.ts"
import type { EngineFeatures } from "./feature-set.ts"
import type { InstanceReader } from "./instances/instance-reader.ts"
import type { Restarts } from "./instances/restarts.ts"
import type { WorkflowRegistry } from "./workflow-registry.ts"
import type { ScheduleWriter } from "./schedules/schedule-writer.ts"
import type { Scheduler } from "./schedules/scheduler.ts"
import type { EngineOptions, EngineSettings, WorkBudget } from "./settings.ts"
import type { InstanceStarter } from "./instances/instance-starter.ts"
import type { Worker } from "./worker/worker.ts"

/** What an engine is opened with. */
export interface EngineSpec {
  readonly host: Host
  readonly store: StoreProvider
  /** A registry: what many engines have in common. */
  readonly workflows: readonly WorkflowSource[] | WorkflowRegistry
  readonly options: EngineOptions
  /** Default: none. */
  readonly features?: EngineFeatures
  /** `client`: never execute. */
  readonly role?: StoreRole
  /** Execute no more than this. */
  readonly budget?: WorkBudget
}

/** What the parts of every engine are made with. */
export interface BareParts<W extends Worker = Worker> {
  readonly host: Host
  readonly store: Store
  readonly settings: EngineSettings
  readonly registry: WorkflowRegistry
  readonly worker: W
}

/** What every engine is made of. */
export interface CoreParts<W extends Worker = Worker> extends BareParts<W> {
  readonly resultWaiters: ResultWaiters
  readonly starter: InstanceStarter
  readonly controls: InstanceControls
}

/** What one that has schedules is made of. */
export interface ScheduleParts<W extends Worker = Worker> extends CoreParts<W> {
  readonly scheduleWriter: ScheduleWriter
  readonly scheduler: Scheduler
}

/** What one with the API of a client is made of. */
export interface EngineParts extends ScheduleParts<ClaimingWorker> {
  readonly reader: InstanceReader
  readonly restarts: Restarts
  readonly updateWaiters: UpdateWaiters
  readonly queryUpdateClient: QueryUpdateClient
  readonly changes: ChangeFeed
}
