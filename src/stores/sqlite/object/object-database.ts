import type { StoreContext, StoreRole } from "../../../ports/store.ts"
import type { TurnObserver } from "../../../ports/cloudflare/turn-observer.ts"
import { storeClosedError } from "../../shared/store-error.ts"
import type { DueSearch } from "../tables/due-table.ts"
import { migrate, versionOf } from "../schema/migrate.ts"
import { objectMigrations } from "./object-schema.ts"
import type { ObjectSqlDriver } from "./object-sql-driver.ts"
import { SmallDueTable } from "./small-due-table.ts"
import { SqliteJournalStore } from "../sqlite-journal-store.ts"
import { type SqliteTables, sqliteTables } from "../sqlite-components.ts"
import type { TurnFlow } from "../tables/turn-flow-port.ts"

/** The database of one Durable Object, open: its tables, and who works on it. The first that opens it in the object is its worker. */
export class ObjectDatabase {
  readonly tables: SqliteTables
  readonly journal: SqliteJournalStore
  readonly #driver: ObjectSqlDriver
  readonly #mayWork: boolean
  #role: StoreRole = "client"
  readonly #listening = new Set<() => void>()

  /**
   * `observer`: other instances are elsewhere, and who has it makes the tables before the first turn. `inOrder`: of several that are here, which
   * come first.
   */
  constructor(
    driver: ObjectSqlDriver,
    { now, role }: Pick<StoreContext, "now" | "role">,
    flow: TurnFlow,
    observer?: TurnObserver,
    inOrder?: DueSearch["inOrder"],
  ) {
    this.#driver = driver
    if (observer === undefined || versionOf(driver).version > 0) migrate(driver, objectMigrations)
    this.tables = sqliteTables(driver, now, { flow, due: new SmallDueTable(driver, inOrder), observer })
    this.journal = new SqliteJournalStore(this.tables)
    this.#mayWork = role === "worker"
    this.#becomeWorker()
  }

  get role(): StoreRole {
    return this.#role
  }

  async standBy(): Promise<StoreRole> {
    if (this.#driver.closed) throw storeClosedError()
    this.#becomeWorker()
    return this.#role
  }

  onHint(listener: () => void): () => void {
    const stop = this.#driver.onOtherWrites(listener)
    this.#listening.add(stop)
    return () => {
      stop()
      this.#listening.delete(stop)
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#listening) stop()
    this.#listening.clear()
    this.#driver.close()
  }

  #becomeWorker(): void {
    if (this.#role === "worker" || !this.#mayWork || !this.#driver.isWorker()) return
    // Whoever was the worker before went with the object's memory, whatever its lease says.
    this.tables.claims.endLeases()
    this.#role = "worker"
  }
}
