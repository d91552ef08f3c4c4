import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { WorkflowSource } from "../../core/workflow/workflow-source.ts"
import type { EngineCore } from "../../engine/engine-core.ts"
import type { EngineFeatures } from "../../engine/feature-set.ts"
import type { RpcMethods } from "../objects/instance-rpc-methods.ts"
import type { LimitObject } from "../objects/limit-object.ts"
import type { LimitSettingsObject } from "../objects/limit-settings-object.ts"
import type { Slots, BackgroundSender } from "../objects/instance-object.ts"
import type { ScheduleObject } from "../objects/schedule-object.ts"
import type { FlowControl } from "../../ports/flow-control.ts"
import type { ScheduleIndex } from "../../ports/cloudflare/index-shard.ts"
import type { SqlDriver } from "../../ports/sql-driver.ts"
import type { Transactions } from "../../ports/transactions.ts"
import type { ObjectStoreOptions } from "../store/object-store.ts"
import type { IndexNewsOf } from "../store/index-publisher.ts"
import type { ShardChanges } from "../../stores/sqlite/object/shards/shard-changes.ts"
import type { OutboxTable } from "../../stores/sqlite/object/outbox-table.ts"
import type { UniqueKeyCommits } from "../store/unique-key-commits.ts"
import type { SqliteTables } from "../../stores/sqlite/sqlite-components.ts"
import type { TurnFlow } from "../../stores/sqlite/tables/turn-flow-port.ts"
import type { ObjectEnvironment } from "./object-environment.ts"

/**
 * What a runner can do besides running instances. Each part is a module of its own that nothing else imports: a Worker that does not name it does
 * not carry its code.
 */
export interface RunnerPart {
  /** What the engines in its objects can do. */
  readonly features?: EngineFeatures
  /** What the objects of instances answer besides. */
  readonly answers?: (core: EngineCore) => RpcMethods
  /** What makes the tables that it has in objects. */
  readonly tables?: Readonly<Record<string, readonly string[]>>
  /** Limits, singletons and debounced starts; the part `flowControl` has it. */
  readonly flow?: FlowPart
  /** Messages to other objects that are sent until they are acknowledged; the part `children` has it. */
  readonly outbox?: OutboxPart
  /** Objects that start instances at times that come again; the part `schedules` has it. */
  readonly schedules?: SchedulePart
  /** Steps that write to your own tables in the object's database; the part `transactions` has it. */
  readonly transactions?: (tables: SqliteTables) => Transactions
  /** What tells readers of `changes()` what happened; the part `changes` has it. */
  readonly changes?: ChangePart
}

export interface ChangePart {
  /** Those of the object's own instance. */
  own(tables: SqliteTables): NonNullable<ObjectStoreOptions["changes"]>
  /** What an instance tells the index of. */
  readonly told: IndexNewsOf
  /** What a shard has heard. */
  readonly index: (driver: SqlDriver) => ShardChanges
}

/** What an instance's object tells others until they have heard it. */
export interface OutboxPart {
  readonly table: (driver: SqlDriver) => OutboxTable
  sender(site: ObjectEnvironment): BackgroundSender
}

export interface FlowPart {
  /** Throws where a workflow says something wrong about flow control. */
  check(workflow: AnyWorkflow): void
  /** The slots of an object's instance. */
  slots(site: ObjectEnvironment): InstanceFlow
  /** The object of one key. */
  limit(site: ObjectEnvironment, workflows: readonly WorkflowSource[]): LimitObject
  /** The object of what was set for a workflow. */
  numbers(site: ObjectEnvironment, workflows: readonly WorkflowSource[]): LimitSettingsObject
}

export interface InstanceFlow {
  readonly slots: Slots
  /** How keys are had before an instance begins. */
  readonly keys: ObjectStoreOptions["keys"]
  keyed(directory: ObjectStoreOptions["directory"], onWritten: () => void): UniqueKeyCommits
  /** What it does within turns, and what the engine asks of it. */
  open(driver: SqlDriver): { readonly flow: TurnFlow; control(tables: SqliteTables, edge: Pick<ObjectStoreOptions, "own" | "onWritten">): FlowControl }
}

export interface SchedulePart {
  /** The object of one schedule. `flow`: as that of an instance's object. */
  schedule(site: ObjectEnvironment, flow: InstanceFlow | undefined): ScheduleObject
  /** What a shard knows of schedules. */
  index(driver: SqlDriver): ScheduleIndex
  /** An instance is over: a schedule may have waited for it. */
  ended(site: ObjectEnvironment, id: string): Promise<void>
}

/** All that the given parts bring. */
export function composed(parts: readonly RunnerPart[]): RunnerPart {
  const merged = <K extends "features" | "tables">(key: K) => Object.assign({}, ...parts.map((part) => part[key])) as NonNullable<RunnerPart[K]>
  return {
    ...(Object.assign({}, ...parts) as RunnerPart),
    features: merged("features"),
    tables: merged("tables"),
    answers: (core) => Object.assign({}, ...parts.map((part) => part.answers?.(core))) as RpcMethods,
  }
}
