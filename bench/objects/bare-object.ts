import { DurableObject } from "cloudflare:workers"
import type { JournalRow } from "../../src/ports/journal-store.ts"
import { migrate } from "../../src/stores/sqlite/migrate.ts"
import { ObjectSqlDriver } from "../../src/stores/sqlite/object-sql-driver.ts"
import { instanceMigrations } from "../../src/stores/sqlite/object-tables.ts"
import { objectParts } from "../../src/stores/sqlite/whole-object-schema.ts"

const instanceColumns = "id, incarnation, workflow, version, created_at, updated_at, status, run, run_position"
const journalColumns = "instance, position, count, run, at, turn, entries"

/** The floor: an object that writes the engine's own rows into the engine's own tables, and does nothing else. */
export class BareObject extends DurableObject {
  #wake: ((lateMs: number) => void) | undefined
  #wakeAt = 0

  async create(rows: readonly JournalRow[], isSynced: boolean): Promise<void> {
    const driver = new ObjectSqlDriver(this.ctx.storage, objectParts)
    migrate(driver, instanceMigrations)
    const at = Date.now()
    driver.prepare(`INSERT INTO perdure_instance (${instanceColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`).run("bare", "i", "w", "1", at, at, "running", 1, 1)
    await this.append(rows, isSynced)
  }

  /** A turn, and the wait until it is durable, for each row. */
  async append(rows: readonly JournalRow[], isSynced: boolean): Promise<void> {
    const driver = new ObjectSqlDriver(this.ctx.storage, objectParts)
    const insert = driver.prepare(`INSERT INTO perdure_journal (${journalColumns}) VALUES (1, ?, ?, ?, ?, ?, ?)`)
    for (const { position, count, run, at, turn, entries } of rows) {
      insert.run(position, count, run, at, turn, entries)
      if (isSynced) await this.ctx.storage.sync()
    }
  }

  /** How late the alarm is. */
  async sleep(ms: number): Promise<number> {
    this.#wakeAt = Date.now() + ms
    await this.ctx.storage.setAlarm(this.#wakeAt)
    return new Promise((resolve) => (this.#wake = resolve))
  }

  async alarm(): Promise<void> {
    this.#wake?.(Date.now() - this.#wakeAt)
  }
}
