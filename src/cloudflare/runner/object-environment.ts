import { storageWithReset } from "../../stores/sqlite/object/storage-with-reset.ts"
import { ObjectSqlDriver } from "../../stores/sqlite/object/object-sql-driver.ts"
import type { ObjectStorage } from "../../stores/sqlite/object/object-storage.ts"
import { SqliteObjectTables } from "../../stores/sqlite/object/object-instance-tables.ts"
import type { EngineFeatures } from "../../engine/feature-set.ts"
import type { WorkflowRegistry } from "../../engine/workflow-registry.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import type { ObjectState } from "../platform/platform.ts"
import type { StubNetwork } from "../objects/object-rpc.ts"
import type { Logger } from "../../ports/host.ts"
import type { OutboxPart } from "./runner-feature.ts"
import type { ShardLayout } from "../store/shard-layout.ts"

/** What all objects of a runner have in common. */
export interface RunnerConfig {
  readonly registry: WorkflowRegistry
  readonly options: EngineOptions
  readonly features: EngineFeatures
  readonly layout: ShardLayout
  readonly log: Logger
  /** What makes a table that is not there from the beginning. */
  readonly makeTable: (name: string) => readonly string[]
  /** Where instances may tell others something. */
  readonly outbox: OutboxPart | undefined
}

/** One object, as whatever it turns out to be finds it: its storage, its own tables, and the way to others. */
export class ObjectEnvironment {
  readonly setting: RunnerConfig
  readonly name: string | undefined
  readonly storage: ObjectState["storage"] & ObjectStorage
  readonly network: StubNetwork
  readonly driver: ObjectSqlDriver
  readonly tables: SqliteObjectTables
  readonly now = (): number => Date.now()

  constructor(setting: RunnerConfig, { id, storage }: ObjectState, network: StubNetwork) {
    this.setting = setting
    this.name = id.name
    this.storage = storageWithReset(storage as typeof storage & ObjectStorage)
    this.network = network
    this.driver = new ObjectSqlDriver(this.storage, setting.makeTable)
    this.tables = new SqliteObjectTables(this.driver, this.now, setting.outbox?.table)
  }

  readonly shardOf = (name: string) => this.network.shard(name)

  /** The object's database as the engine in it writes it: what is written past it is news to the engine. */
  readonly openDriver = (): ObjectSqlDriver => new ObjectSqlDriver(this.storage, this.setting.makeTable)
}
