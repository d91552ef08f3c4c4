import type { WorkflowSource } from "../../core/workflow/workflow-source.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import type { WorkflowRegistry } from "../../engine/workflow-registry.ts"
import type { Logger } from "../../ports/host.ts"
import { objectTableDefinitions, SqliteObjectTables } from "../../stores/sqlite/object/object-instance-tables.ts"
import { ObjectSqlDriver } from "../../stores/sqlite/object/object-sql-driver.ts"
import type { ObjectStorage } from "../../stores/sqlite/object/object-storage.ts"
import { storageWithReset } from "../../stores/sqlite/object/storage-with-reset.ts"
import type { StubNetwork } from "../objects/object-rpc.ts"
import type { ObjectState } from "../platform/platform.ts"
import type { ShardLayout, ShardOptions } from "../store/shard-layout.ts"

/** The configuration that all objects of one class share. */
export interface RunnerConfig {
  readonly workflows: readonly WorkflowSource[]
  readonly registry: WorkflowRegistry
  readonly options: EngineOptions
  readonly shards: ShardOptions
  readonly layout: ShardLayout
  readonly log: Logger
}

/** The environment of one object in any role: its storage, its own tables, and the network to other objects. */
export class ObjectEnvironment {
  readonly config: RunnerConfig
  readonly name: string | undefined
  readonly storage: ObjectState["storage"] & ObjectStorage
  readonly network: StubNetwork
  readonly driver: ObjectSqlDriver
  readonly tables: SqliteObjectTables
  readonly now = (): number => Date.now()

  constructor(config: RunnerConfig, { id, storage }: ObjectState, network: StubNetwork) {
    this.config = config
    this.name = id.name
    this.storage = storageWithReset(storage as typeof storage & ObjectStorage)
    this.network = network
    this.driver = this.openDriver()
    this.tables = new SqliteObjectTables(this.driver, this.now)
  }

  readonly shardOf = (name: string) => this.network.shard(name)

  /** Opens another driver on the object's storage. The engine needs its own: its cache must not miss writes of the other drivers. */
  openDriver = (): ObjectSqlDriver => new ObjectSqlDriver(this.storage, objectTableDefinitions)
}
