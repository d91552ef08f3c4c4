import type { TaskQueueIndex } from "../../../../ports/cloudflare/index-shard.ts"
import type { SqlDriver } from "../../../../ports/sql-driver.ts"
import { toText } from "../../../shared/unsafe-text.ts"
import { text } from "../../driver/sql-columns.ts"
import { migrate } from "../../schema/migrate.ts"
import { shardMigrations, shardVersions } from "./shard-schema.ts"

/** The names of the task queues in a shard. */
export class SqliteShardTaskQueues implements TaskQueueIndex {
  readonly #driver: SqlDriver

  constructor(driver: SqlDriver) {
    migrate(driver, shardMigrations, shardVersions)
    this.#driver = driver
  }

  async taskQueueWrite(queue: string): Promise<void> {
    this.#driver.prepare(`INSERT INTO perdure_index_task_queue (queue) VALUES (?) ON CONFLICT (queue) DO NOTHING`).run(toText(queue))
  }

  async taskQueueRemove(queue: string): Promise<void> {
    this.#driver.prepare(`DELETE FROM perdure_index_task_queue WHERE queue = ?`).run(toText(queue))
  }

  async taskQueueList(): Promise<readonly string[]> {
    const rows = this.#driver.prepare(`SELECT queue FROM perdure_index_task_queue ORDER BY queue`).all()
    return rows.map((row) => text(row, "queue"))
  }
}
