import { accessSync, constants, existsSync, mkdtempSync, realpathSync, rmdirSync } from "node:fs"
import { PerdureError } from "../../core/errors.ts"
import type { Directory } from "../../ports/directory.ts"
import type { FlowControl } from "../../ports/flow-control.ts"
import type { JournalStore } from "../../ports/journal-store.ts"
import type { ScheduleStore } from "../../ports/schedule-store.ts"
import type { Store, StoreContext, StoreRole } from "../../ports/store.ts"
import type { Transactions } from "../../ports/transactions.ts"
import { storeClosedError } from "../shared/store-error.ts"
import { ChangePoll } from "./file/change-poll.ts"
import { LockQueue, onceUnlocked } from "./file/lock-queue.ts"
import { migrate } from "./schema/migrate.ts"
import { NodeSqlDriver } from "./driver/node-sql-driver.ts"
import { queuedDirectory, queuedFlow, queuedJournal, queuedSchedules, queuedTransactions } from "./file/queued-store.ts"
import { migrations } from "./schema/schema.ts"
import { SqliteDirectory } from "./sqlite-directory.ts"
import { SqliteFlowControl } from "./sqlite-flow-control.ts"
import { SqliteJournalStore } from "./sqlite-journal-store.ts"
import { SqliteScheduleStore } from "./sqlite-schedule-store.ts"
import { fileTables } from "./file-components.ts"
import type { FlowTables } from "./sqlite-components.ts"
import { SqliteTransactions } from "./sqlite-transactions.ts"
import { WorkerLock } from "./file/worker-lock.ts"

interface Opening {
  readonly path: string
  readonly settings: string
  readonly pollIntervalMs: number
  /** How long a call waits for the lock of another process. */
  readonly busyTimeoutMs: number
  readonly context: StoreContext
  /** Nothing is written, not even a newer schema. */
  readonly readOnly?: boolean
}

/** Waits for the lock of another process as every write does: to open a file may write to it. */
export function openSqliteStore(opening: Opening): Promise<Store> {
  return onceUnlocked(() => openNow(opening), opening.busyTimeoutMs)
}

function openNow(opening: Opening): Store {
  if (opening.readOnly !== true) refuseUnwritable(opening.path)
  const driver = openDriver(opening)
  try {
    if (opening.readOnly !== true) {
      migrate(driver, migrations)
      // A file that cannot be written should say so now, not at the first commit.
      driver.transaction(() => {})
    }
    return new SqliteStore(driver, opening)
  } catch (error) {
    driver.close()
    throw explained(error, opening.path)
  }
}

/**
 * Before SQLite touches it: it gives the files that it makes beside a read-only database the same permissions, and these would keep
 * the database from being written even after it was made writable.
 */
function refuseUnwritable(path: string): void {
  if (path === ":memory:" || !existsSync(path)) return
  try {
    accessSync(path, constants.W_OK)
  } catch (cause) {
    throw new PerdureError("READ_ONLY", `"${path}" cannot be written; make the file and its folder writable for this process`, { details: { path }, cause })
  }
}

function openDriver({ path, settings, readOnly = false }: Opening): NodeSqlDriver {
  try {
    return new NodeSqlDriver(path, settings, readOnly)
  } catch (error) {
    throw explained(error, path)
  }
}

/** SQLite cannot open a file in a folder where it may not create the write-ahead log; the folder's permissions are the cause then. */
function explained(error: unknown, path: string): unknown {
  if (!PerdureError.is(error, "DATABASE_UNREADABLE")) return error
  try {
    rmdirSync(mkdtempSync(`${path}-`))
    return error
  } catch (refusal) {
    const code = refusal instanceof Error && "code" in refusal ? refusal.code : undefined
    if (code !== "EACCES" && code !== "EPERM" && code !== "EROFS") return error
    return new PerdureError(
      "READ_ONLY",
      `the folder of "${path}" cannot be written; make it writable for this process, SQLite keeps files beside the database`,
      {
        details: { path },
        cause: error,
      },
    )
  }
}

class SqliteStore implements Store {
  readonly journal: JournalStore
  readonly directory: Directory
  readonly schedules: ScheduleStore
  readonly transactions: Transactions
  readonly flow: FlowControl
  readonly #driver: NodeSqlDriver
  readonly #queue: LockQueue
  readonly #tables: FlowTables
  readonly #poll: ChangePoll
  readonly #mayWork: boolean
  /** What the lock is named after, whatever link the file was opened through. Undefined: a database of our own in memory. */
  readonly #file: string | undefined
  #lock: WorkerLock | undefined
  readonly #goneListeners = new Set<(error: PerdureError) => void>()
  #role: StoreRole = "client"

  constructor(driver: NodeSqlDriver, { path, pollIntervalMs, busyTimeoutMs, context, readOnly = false }: Opening) {
    this.#driver = driver
    this.#tables = fileTables(driver, context.now)
    this.#queue = new LockQueue(driver, busyTimeoutMs)
    this.journal = queuedJournal(new SqliteJournalStore(this.#tables), this.#queue)
    this.directory = queuedDirectory(new SqliteDirectory({ ...this.#tables, now: context.wallNow ?? context.now }), this.#queue)
    this.schedules = queuedSchedules(new SqliteScheduleStore(this.#tables), this.#queue)
    this.transactions = queuedTransactions(new SqliteTransactions(this.#tables), this.#queue)
    this.flow = queuedFlow(new SqliteFlowControl(this.#tables), this.#queue)
    this.#poll = new ChangePoll(driver, pollIntervalMs)
    this.#mayWork = context.role === "worker"
    this.#file = path === ":memory:" ? undefined : realpathSync(path)
    this.#becomeWorker()
    // Whoever only reads acknowledges nothing; and the log may come and go beside it.
    if (this.#file !== undefined && !readOnly) driver.watchFile((error) => this.#stop(error))
  }

  get role(): StoreRole {
    return this.#role
  }

  async standBy(): Promise<StoreRole> {
    return this.#queue.write(async () => {
      if (this.#driver.closed) throw storeClosedError()
      this.#becomeWorker()
      return this.#role
    })
  }

  hasWorker(): boolean {
    return this.#role === "worker" || this.#file === undefined || WorkerLock.isHeld(this.#file)
  }

  onHint(listener: () => void): () => void {
    return this.#poll.listen(listener)
  }

  onGone(listener: (error: PerdureError) => void): () => void {
    this.#goneListeners.add(listener)
    return () => void this.#goneListeners.delete(listener)
  }

  async close(): Promise<void> {
    if (this.#driver.closed) return
    this.#poll.stop()
    this.#queue.close()
    try {
      if (!this.#driver.isGone) this.#driver.exec("PRAGMA wal_checkpoint(PASSIVE)")
    } catch {
      // What is not in the file yet is in the log beside it, and the next one to open finds it there.
    }
    this.#driver.close()
    this.#lock?.release()
    this.#lock = undefined
  }

  /** The file is deleted, replaced or overwritten. Whoever opens the file that has its name now may execute. */
  #stop(error: PerdureError): void {
    this.#poll.stop()
    this.#role = "client"
    this.#lock?.release()
    this.#lock = undefined
    // Afterwards: the call that noticed it fails first.
    queueMicrotask(() => {
      for (const listener of this.#goneListeners) listener(error)
    })
  }

  #becomeWorker(): void {
    if (this.#role === "worker" || !this.#mayWork) return
    if (this.#file !== undefined) {
      const lock = WorkerLock.take(this.#file)
      if (lock === undefined) return
      this.#lock = lock
    }
    try {
      // Whoever was the worker before is dead, whatever its lease says.
      this.#driver.transaction(() => this.#tables.claims.endLeases())
    } catch (error) {
      this.#lock?.release()
      this.#lock = undefined
      throw error
    }
    this.#role = "worker"
  }
}
