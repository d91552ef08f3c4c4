import { accessSync, constants, existsSync, mkdtempSync, realpathSync, rmdirSync } from "node:fs"
import { PerdureError } from "../../core/errors.ts"
import type { Directory } from "../../ports/directory.ts"
import type { FlowControl } from "../../ports/flow-control.ts"
import type { JournalStore } from "../../ports/journal-store.ts"
import type { ScheduleStore } from "../../ports/schedule-store.ts"
import type { Store, StoreContext, StoreRole } from "../../ports/store.ts"
import type { TaskStore } from "../../ports/task-store.ts"
import type { Transactions } from "../../ports/transactions.ts"
import { storeClosedError } from "../shared/store-error.ts"
import { ChangePoll } from "./file/change-poll.ts"
import { LockQueue, onceUnlocked } from "./file/lock-queue.ts"
import { migrate } from "./schema/migrate.ts"
import { NodeSqlDriver } from "./driver/node-sql-driver.ts"
import { queuedDirectory, queuedFlow, queuedJournal, queuedSchedules, queuedTasks, queuedTransactions } from "./file/queued-store.ts"
import { migrations } from "./schema/schema.ts"
import { SqliteDirectory } from "./sqlite-directory.ts"
import { SqliteFlowControl } from "./sqlite-flow-control.ts"
import { SqliteJournalStore } from "./sqlite-journal-store.ts"
import { SqliteScheduleStore } from "./sqlite-schedule-store.ts"
import { SqliteTaskStore } from "./sqlite-task-store.ts"
import { fileTables } from "./file-components.ts"
import type { FlowTables } from "./sqlite-components.ts"
import { SqliteTransactions } from "./sqlite-transactions.ts"
import { WorkerLock } from "./file/worker-lock.ts"

interface OpenOptions {
  readonly path: string
  readonly settings: string
  readonly pollIntervalMs: number
  /** How long a call waits for the lock of another process. */
  readonly busyTimeoutMs: number
  readonly context: StoreContext
  /** The store writes nothing, not even a newer schema. */
  readonly readOnly?: boolean
}

/** Waits for the lock of another process, as every write does: opening may write to the file. */
export function openSqliteStore(options: OpenOptions): Promise<Store> {
  return onceUnlocked(() => openNow(options), options.busyTimeoutMs)
}

function openNow(options: OpenOptions): Store {
  if (options.readOnly !== true) refuseUnwritable(options.path)
  const driver = openDriver(options)
  try {
    if (options.readOnly !== true) {
      migrate(driver, migrations)
      // If the file cannot be written, the user must get the error now, not with the first commit.
      driver.transaction(() => {})
    }
    return new SqliteStore(driver, options)
  } catch (error) {
    driver.close()
    throw explained(error, options.path)
  }
}

/**
 * Call this before SQLite opens the file. SQLite gives the files that it creates beside a read-only database the same permissions, and these
 * files would keep the database from being written even after the user has made it writable.
 */
function refuseUnwritable(path: string): void {
  if (path === ":memory:" || !existsSync(path)) return
  try {
    accessSync(path, constants.W_OK)
  } catch (cause) {
    throw new PerdureError("READ_ONLY", `"${path}" cannot be written; make the file and its folder writable for this process`, { details: { path }, cause })
  }
}

function openDriver({ path, settings, readOnly = false }: OpenOptions): NodeSqlDriver {
  try {
    return new NodeSqlDriver(path, settings, readOnly)
  } catch (error) {
    throw explained(error, path)
  }
}

/** SQLite cannot open a file if it may not create the write-ahead log in the folder. This error then names the folder's permissions as the cause. */
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
      `the folder of "${path}" cannot be written; make it writable for this process, because SQLite keeps files beside the database`,
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
  readonly tasks: TaskStore
  readonly #driver: NodeSqlDriver
  readonly #queue: LockQueue
  readonly #tables: FlowTables
  readonly #poll: ChangePoll
  readonly #mayWork: boolean
  /** The real path of the file, which names the worker lock even if the file was opened through a link. Undefined: the database is in memory. */
  readonly #file: string | undefined
  #lock: WorkerLock | undefined
  readonly #goneListeners = new Set<(error: PerdureError) => void>()
  #role: StoreRole = "client"

  constructor(driver: NodeSqlDriver, { path, pollIntervalMs, busyTimeoutMs, context, readOnly = false }: OpenOptions) {
    this.#driver = driver
    const tables = fileTables(driver, context.now)
    this.#tables = tables
    this.#queue = new LockQueue(driver, busyTimeoutMs)
    this.journal = queuedJournal(new SqliteJournalStore(this.#tables), this.#queue)
    this.directory = queuedDirectory(new SqliteDirectory({ ...this.#tables, now: context.wallNow ?? context.now }), this.#queue)
    this.schedules = queuedSchedules(new SqliteScheduleStore(this.#tables), this.#queue)
    this.transactions = queuedTransactions(new SqliteTransactions(this.#tables), this.#queue)
    this.flow = queuedFlow(new SqliteFlowControl(this.#tables), this.#queue)
    this.tasks = queuedTasks(new SqliteTaskStore(tables, context.wallNow), this.#queue)
    this.#poll = new ChangePoll(driver, pollIntervalMs)
    this.#mayWork = context.role === "worker"
    this.#file = path === ":memory:" ? undefined : realpathSync(path)
    this.#becomeWorker()
    // A reader acknowledges no writes, and the log may come and go beside its database.
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
      // Commits that are not in the file yet are in the log, where the next process to open the file finds them.
    }
    this.#driver.close()
    this.#lock?.release()
    this.#lock = undefined
  }

  /** The file was deleted, replaced or overwritten. A process that opens the file which has the name now may execute workflows. */
  #stop(error: PerdureError): void {
    this.#poll.stop()
    this.#role = "client"
    this.#lock?.release()
    this.#lock = undefined
    // In a microtask: the call that noticed the loss must fail first.
    queueMicrotask(() => {
      for (const listener of this.#goneListeners) listener(error)
    })
  }

  #becomeWorker(): void {
    if (this.#role === "worker" || !this.#mayWork) return
    if (this.#file !== undefined) {
      const lock = WorkerLock.tryAcquire(this.#file)
      if (lock === undefined) return
      this.#lock = lock
    }
    try {
      // The worker lock was free, so any earlier worker is dead even if its lease has not expired.
      this.#driver.transaction(() => this.#tables.claims.endLeases())
    } catch (error) {
      this.#lock?.release()
      this.#lock = undefined
      throw error
    }
    this.#role = "worker"
  }
}
