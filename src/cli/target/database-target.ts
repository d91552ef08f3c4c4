import { existsSync } from "node:fs"
import { resolve } from "node:path"
import type { StoreProvider } from "../../ports/store.ts"
import { CommandError, exitCodes, usageError } from "../exit-code.ts"
import type { Invocation } from "../invocation.ts"
import { isAddress } from "./database-argument.ts"
import { requireTables, serverName, serverStore } from "./server-database.ts"
import { shownPath } from "../user-code/workflow-entry.ts"

/** The database that a command opens itself, without asking a server of Perdure: a file, or the address of a database server. */
export function databaseOf(cli: Invocation, command: string): string {
  const { target, options, io } = cli
  if (target.kind === "db") return target.db
  if (target.serves !== undefined) return target.serves
  if (options.url !== undefined || target.from !== "the default") throw usageError(`${command} works on the database itself, not through a server; give --db`)
  return resolve(io.cwd, "perdure.db")
}

/** The database, which has to be an existing SQLite file. */
export function databaseFileOf(cli: Invocation, command: string): string {
  const db = databaseOf(cli, command)
  if (isAddress(db)) throw forFilesOnly(command)
  if (existsSync(db)) return db
  throw new CommandError("NO_DATABASE", exitCodes.unreachable, `there is no file "${db}"; give the path of the database with --db`)
}

/** The error of a command that works on files only. */
export function forFilesOnly(command: string): CommandError {
  return usageError(`${command} is for SQLite files; a PostgreSQL database is copied by pg_dump and put back by pg_restore, with its schema "perdure"`)
}

/** The database as it is printed: a file, or a server without the password. */
export function shownDatabase(db: string, cwd: string): string {
  return isAddress(db) ? `PostgreSQL at ${serverName(db)}` : shownPath(db, cwd)
}

/** The database, which has to be an existing file, or a database that has the tables of Perdure. */
export async function presentDatabaseOf(cli: Invocation, command: string): Promise<string> {
  const db = databaseOf(cli, command)
  if (!isAddress(db)) return databaseFileOf(cli, command)
  await requireTables(db, cli.target.from)
  return db
}

/** The store of a database, opened as the program of the user would open it. */
export async function storeOf(db: string): Promise<StoreProvider> {
  if (!isAddress(db)) return (await import("../../sqlite.ts")).sqlite(db)
  return serverStore(db)
}
