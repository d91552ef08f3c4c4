import { DurableObject } from "cloudflare:workers"
import type { IndexUpdate } from "../../src/ports/cloudflare/index-shard.ts"
import type { JournalRow } from "../../src/ports/journal-store.ts"
import { migrate } from "../../src/stores/sqlite/schema/migrate.ts"
import { ObjectSqlDriver } from "../../src/stores/sqlite/object/object-sql-driver.ts"
import { instanceMigrations, objectTableDefinitions } from "../../src/stores/sqlite/object/object-instance-tables.ts"
import { SqliteIndexShard } from "../../src/stores/sqlite/object/shards/sqlite-index-shard.ts"
import { wait, type WorkerEnv } from "./object-engine.ts"

const instanceColumns = "id, incarnation, workflow, version, created_at, updated_at, status, run, run_position"
const journalColumns = "instance, position, count, run, at, turn, entries"

const watchdogMs = 10_000
/** The caller gets the result before the index gets its update. */
const answerMs = 3

/** The floor: an object that writes the engine's own rows into the engine's own tables, and does nothing else. */
export class BareObject extends DurableObject<WorkerEnv> {
  #shard: SqliteIndexShard | undefined
  #wake: ((lateMs: number) => void) | undefined
  #wakeAt = 0

  async create(rows: readonly JournalRow[], isSynced: boolean): Promise<void> {
    const driver = new ObjectSqlDriver(this.ctx.storage, objectTableDefinitions)
    migrate(driver, instanceMigrations)
    const at = Date.now()
    driver.prepare(`INSERT INTO perdure_instance (${instanceColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`).run("bare", "i", "w", "1", at, at, "running", 1, 1)
    await this.append(rows, isSynced)
  }

  /** Creates the instance, with an alarm and an update of the index, as the engine does. */
  async createWatched(rows: readonly JournalRow[], news: IndexUpdate): Promise<void> {
    void this.ctx.storage.setAlarm(Date.now() + watchdogMs)
    await this.create(rows, true)
    this.ctx.waitUntil(this.#tell(news))
  }

  async result(): Promise<number> {
    return this.ctx.storage.sql.exec("SELECT max(position) FROM perdure_journal").raw().toArray().length
  }

  /** Updates the index, after which the object has nothing left to do. */
  async #tell(news: IndexUpdate): Promise<void> {
    await wait(answerMs)
    const { BARE } = this.env
    await (BARE.get(BARE.idFromName("index")) as unknown as BareObject).indexWrite([news])
    this.ctx.storage.sql.exec("UPDATE perdure_instance SET end_position = 1")
    void this.ctx.storage.deleteAlarm()
  }

  async indexWrite(news: readonly IndexUpdate[]): Promise<void> {
    this.#shard ??= new SqliteIndexShard(new ObjectSqlDriver(this.ctx.storage), Date.now)
    await this.#shard.indexWrite(news)
  }

  /** Writes each row as a turn, and waits until the turn is durable. */
  async append(rows: readonly JournalRow[], isSynced: boolean): Promise<void> {
    const driver = new ObjectSqlDriver(this.ctx.storage, objectTableDefinitions)
    const insert = driver.prepare(`INSERT INTO perdure_journal (${journalColumns}) VALUES (1, ?, ?, ?, ?, ?, ?)`)
    for (const { position, count, run, at, turn, entries } of rows) {
      insert.run(position, count, run, at, turn, entries)
      if (isSynced) await this.ctx.storage.sync()
    }
  }

  /** Sleeps, and returns how late the alarm is, in milliseconds. */
  async sleep(ms: number): Promise<number> {
    this.#wakeAt = Date.now() + ms
    await this.ctx.storage.setAlarm(this.#wakeAt)
    return new Promise((resolve) => (this.#wake = resolve))
  }

  async alarm(): Promise<void> {
    this.#wake?.(Date.now() - this.#wakeAt)
  }
}
