import { renameSync, rmSync } from "node:fs"
import * as nodeSqlite from "node:sqlite"
import { PerdureError } from "../../../core/errors.ts"
import { onceUnlocked } from "./lock-queue.ts"
import { migrate, type SchemaVersion, versionOf } from "../schema/migrate.ts"
import { NodeSqlDriver } from "../driver/node-sql-driver.ts"
import { migrations } from "../schema/schema.ts"
import { sqliteFailure } from "../driver/sqlite-failure.ts"

/** Operations on a database file as a whole, for the command line: schema, migration, check, copy. */

const readSettings = "PRAGMA busy_timeout = 5000"

export const newestSchema = migrations.at(-1)?.version ?? 0

/** The schema version of a file; 0: the file has none of our tables. */
export function schemaOf(path: string): SchemaVersion {
  return reading(path, versionOf)
}

/** The migrations that `migrate` would run on a database of that version. */
export function pendingMigrations(version: number): readonly { readonly version: number; readonly statements: number }[] {
  return migrations.filter((migration) => migration.version > version).map(({ version: to, statements }) => ({ version: to, statements: statements.length }))
}

/** Brings the tables in a file to the newest version. Waits while another process holds the write lock, and fails with `DATABASE_BUSY` after 5 s. */
export function migrateFile(path: string): Promise<void> {
  return onceUnlocked(() => {
    const driver = new NodeSqlDriver(path, `PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL`)
    try {
      migrate(driver, migrations)
    } finally {
      driver.close()
    }
  }, 5_000)
}

/** The problems that SQLite finds in a file, at most `max`. An empty list: the file is intact. */
export function integrityProblems(path: string, max = 20): readonly string[] {
  return reading(path, (driver) => {
    const found = driver.prepare(`PRAGMA integrity_check(${max})`).all()
    return found.map((row) => String(row["integrity_check"])).filter((text) => text !== "ok")
  })
}

/** The size of a database in bytes, including pages that are only in the write-ahead log yet. */
export function databaseBytes(path: string): number {
  return reading(
    path,
    (driver) => Number(driver.prepare("PRAGMA page_count").get()?.["page_count"]) * Number(driver.prepare("PRAGMA page_size").get()?.["page_size"]),
  )
}

/** Calls `read` with a read-only connection. */
export function reading<T>(path: string, read: (driver: NodeSqlDriver) => T): T {
  const driver = new NodeSqlDriver(path, readSettings, true)
  try {
    return read(driver)
  } finally {
    driver.close()
  }
}

export interface CopyProgress {
  readonly done: number
  readonly total: number
}

const pagesAtOnce = 500

/**
 * Copies a database while other processes may write to it. The copy is the state of one moment: a read transaction is open from the first page to
 * the last, and blocks no writer. The copy gets the name `target` only when it is complete.
 */
export async function copyDatabase(source: string, target: string, onProgress: (progress: CopyProgress) => void = () => undefined): Promise<void> {
  const partial = `${target}.partial`
  for (const suffix of ["", "-journal", "-wal"]) rmSync(partial + suffix, { force: true })
  try {
    const database = new nodeSqlite.DatabaseSync(source, { readOnly: true, timeout: 5_000 })
    try {
      await copyPages(database, partial, onProgress)
    } finally {
      database.close()
    }
    standAlone(partial)
    const problems = integrityProblems(partial)
    if (problems.length > 0)
      throw new PerdureError("DATABASE_CORRUPT", `the copy of "${source}" is not whole: ${problems.join("; ")}; the original is damaged, too`)
    renameSync(partial, target)
  } catch (error) {
    rmSync(partial, { force: true })
    throw PerdureError.is(error) ? error : sqliteFailure(source, error)
  } finally {
    // The integrity check of the copy may leave these files.
    for (const suffix of ["-shm", "-wal", "-journal"]) rmSync(partial + suffix, { force: true })
  }
}

/** Makes the copy a single file, so that a reader can open it where no file may be created. Opening it as a store creates the log again. */
function standAlone(path: string): void {
  const database = new nodeSqlite.DatabaseSync(path)
  try {
    database.exec("PRAGMA journal_mode = DELETE")
  } finally {
    database.close()
  }
}

async function copyPages(database: nodeSqlite.DatabaseSync, target: string, onProgress: (progress: CopyProgress) => void): Promise<void> {
  // Older versions of Node that we support lack it.
  const backup = (nodeSqlite as { readonly backup?: typeof nodeSqlite.backup }).backup
  if (backup === undefined) return void database.prepare("VACUUM INTO ?").run(target)
  database.exec("BEGIN")
  // A read opens the transaction. Without a transaction the copy would start again with every write of another process.
  database.prepare("SELECT count(*) FROM sqlite_master").get()
  await backup(database, target, {
    rate: pagesAtOnce,
    progress: ({ totalPages, remainingPages }) => onProgress({ done: totalPages - remainingPages, total: totalPages }),
  })
  database.exec("COMMIT")
}
