import type { Store, StoreContext, StoreProvider, StoreRole } from "../../ports/store.ts"
import type { TurnOutlet } from "../../ports/turn-outlet.ts"
import { closedStore } from "../closed-store.ts"
import { migrate } from "./migrate.ts"
import { objectMigrations, objectParts } from "./object-schema.ts"
import { ObjectSqlDriver } from "./object-sql-driver.ts"
import type { ObjectStorage } from "./object-storage.ts"
import { SqliteDirectory } from "./sqlite-directory.ts"
import { SqliteFlowControl } from "./sqlite-flow-control.ts"
import { SqliteJournalStore } from "./sqlite-journal-store.ts"
import type { SqliteObjectPermits } from "./sqlite-object-permits.ts"
import { SqliteScheduleStore } from "./sqlite-schedule-store.ts"
import { type SqliteTables, sqliteTables } from "./sqlite-tables.ts"
import { SqliteTransactions } from "./sqlite-transactions.ts"

/** A store in the database of one Durable Object. The first that opens it in the object is its worker. `outlet`: other instances are elsewhere, and so are slots. */
export function objectStore(storage: ObjectStorage, outlet?: TurnOutlet, permits?: SqliteObjectPermits): StoreProvider {
  return { name: "object", open: async (context) => new ObjectStore(storage, context, outlet, permits) }
}

class ObjectStore implements Store {
  readonly journal: SqliteJournalStore
  readonly directory: SqliteDirectory
  readonly schedules: SqliteScheduleStore
  readonly transactions: SqliteTransactions
  readonly flow: SqliteFlowControl
  readonly #driver: ObjectSqlDriver
  readonly #tables: SqliteTables
  readonly #mayWork: boolean
  #role: StoreRole = "client"
  readonly #listening = new Set<() => void>()

  constructor(storage: ObjectStorage, { now, role }: StoreContext, outlet?: TurnOutlet, permits?: SqliteObjectPermits) {
    this.#driver = new ObjectSqlDriver(storage, objectParts)
    migrate(this.#driver, objectMigrations)
    this.#tables = sqliteTables(this.#driver, now, outlet, permits?.isPermitted)
    this.journal = new SqliteJournalStore(this.#tables)
    this.directory = new SqliteDirectory(this.#tables)
    this.schedules = new SqliteScheduleStore(this.#tables)
    this.transactions = new SqliteTransactions(this.#tables)
    this.flow = new SqliteFlowControl(this.#tables)
    if (permits) this.#follow(permits)
    this.#mayWork = role === "worker"
    this.#becomeWorker()
  }

  #follow(permits: SqliteObjectPermits): void {
    const { flow } = this.#tables
    permits.admit = (keys) => flow.transaction(() => flow.admission.changed(keys))
    permits.admitHeld()
  }

  get role(): StoreRole {
    return this.#role
  }

  async standBy(): Promise<StoreRole> {
    if (this.#driver.closed) throw closedStore()
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
    this.#tables.claims.endLeases()
    this.#role = "worker"
  }
}
