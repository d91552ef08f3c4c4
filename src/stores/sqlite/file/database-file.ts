import { renameSync, rmSync } from "node:fs"
import * as nodeSqlite from "node:sqlite"
import { PerdureError } from "../../../core/errors.ts"
import { onceUnlocked } from "./lock-queue.ts"
import { migrate, type SchemaVersion, versionOf } from "../schema/migrate.ts"
import { NodeSqlDriver } from "../driver/node-sql-driver.ts"
import { migrations } from "../schema/schema.ts"
import { sqliteFailure } from "../driver/sqlite-failure.ts"

/** What people do with the file of a database as a whole. */

const readSettings = "PRAGMA busy_timeout = 5000"

export const newestSchema = migrations.at(-1)?.version ?? 0

/** The version of our tables in a file; 0: there are none. */
export function schemaOf(path: string): SchemaVersion {
  return reading(path, versionOf)
}

/** What `migrate` would do to a database of that version. */
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

/** What SQLite finds wrong in a file, at most so many findings; none: it is whole. */
export function integrityProblems(path: string, max = 20): readonly string[] {
  return reading(path, (driver) => {
    const found = driver.prepare(`PRAGMA integrity_check(${max})`).all()
    return found.map((row) => String(row["integrity_check"])).filter((text) => text !== "ok")
  })
}

/** Bytes of the pages of a database, whatever part of them is in the log beside it. */
export function databaseBytes(path: string): number {
  return reading(
    path,
    (driver) => Number(driver.prepare("PRAGMA page_count").get()?.["page_count"]) * Number(driver.prepare("PRAGMA page_size").get()?.["page_size"]),
  )
}

/** Calls with a connection that cannot write. */
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
 * Copies a database that others may be writing to. What it copies is one moment of it: a read transaction, which hinders nobody, is held
 * from the first page to the last. The copy has its name only once it is whole.
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
    // Left by the look at the copy.
    for (const suffix of ["-shm", "-wal", "-journal"]) rmSync(partial + suffix, { force: true })
  }
}

/** One file, which can also be read where nothing may be written beside it. Whoever opens it as a store puts the log there again. */
function standAlone(path: string): void {
  const database = new nodeSqlite.DatabaseSync(path)
  try {
    database.exec("PRAGMA journal_mode = DELETE")
  } finally {
    database.close()
  }
}

async function copyPages(database: nodeSqlite.DatabaseSync, target: string, onProgress: (progress: CopyProgress) => void): Promise<void> {
  // Not in every Node that we run on.
  const backup = (nodeSqlite as { readonly backup?: typeof nodeSqlite.backup }).backup
  if (backup === undefined) return void database.prepare("VACUUM INTO ?").run(target)
  database.exec("BEGIN")
  // Only a read opens the transaction; without it the copy would begin anew with every write of another process.
  database.prepare("SELECT count(*) FROM sqlite_master").get()
  await backup(database, target, {
    rate: pagesAtOnce,
    progress: ({ totalPages, remainingPages }) => onProgress({ done: totalPages - remainingPages, total: totalPages }),
  })
  database.exec("COMMIT")
}
