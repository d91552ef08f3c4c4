import type { StoreContext, StoreRole } from "../../../ports/store.ts"
import type { SqlDriver } from "../../../ports/sql-driver.ts"
import type { TurnObserver } from "../../../ports/cloudflare/turn-observer.ts"
import { storeClosedError } from "../../shared/store-error.ts"
import { migrate, versionOf } from "../schema/migrate.ts"
import { objectMigrations } from "./object-schema.ts"
import type { ObjectSqlDriver } from "./object-sql-driver.ts"
import { SmallDueTable } from "./small-due-table.ts"
import { SqliteJournalStore } from "../sqlite-journal-store.ts"
import { type SqliteTables, sqliteTables } from "../sqlite-components.ts"
import type { TurnFlow } from "../tables/turn-flow-port.ts"
import type { TurnTasks } from "../tables/turn-tasks.ts"

/** The tables of an object's instance. `observer` is told of each turn and of each message to another object. */
export function objectTables(driver: SqlDriver, now: () => number, flow: TurnFlow, observer: TurnObserver, tasks?: TurnTasks): SqliteTables {
  return sqliteTables(driver, now, { flow, due: new SmallDueTable(driver), tasks, observer })
}

/** The open database of one Durable Object. The first to open it in the object is its worker. */
export class ObjectDatabase {
  readonly tables: SqliteTables
  readonly journal: SqliteJournalStore
  readonly #driver: ObjectSqlDriver
  readonly #mayWork: boolean
  #role: StoreRole = "client"
  readonly #subscriptions = new Set<() => void>()

  /** Creates no tables in an empty database: most objects without tables never get an instance. The store creates the tables before the first turn. */
  constructor(driver: ObjectSqlDriver, { role }: Pick<StoreContext, "role">, tables: SqliteTables) {
    this.#driver = driver
    if (versionOf(driver).version > 0) migrate(driver, objectMigrations)
    this.tables = tables
    this.journal = new SqliteJournalStore(tables)
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
    this.#subscriptions.add(stop)
    return () => {
      stop()
      this.#subscriptions.delete(stop)
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#subscriptions) stop()
    this.#subscriptions.clear()
    this.#driver.close()
  }

  #becomeWorker(): void {
    if (this.#role === "worker" || !this.#mayWork || !this.#driver.isWorker()) return
    // An earlier worker ended with the object's memory, even if its lease has not expired.
    this.tables.claims.endLeases()
    this.#role = "worker"
  }
}
