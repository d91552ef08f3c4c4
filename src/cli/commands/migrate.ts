import type { Command } from "commander"
import { PerdureError } from "../../core/errors.ts"
import { migrateFile, newestSchema, pendingMigrations, schemaOf } from "../../stores/sqlite/file/database-file.ts"
import { databaseFileOf, databaseOf } from "../target/database-target.ts"
import type { Invocation } from "../invocation.ts"
import { isAddress } from "../target/database-argument.ts"
import { inspect, serverName } from "../target/server-database.ts"

export function addMigrate(program: Command, cli: Invocation): void {
  program
    .command("migrate")
    .option("--dry-run", "only say what would be done")
    .addHelpText(
      "after",
      "\nBrings the tables in a database to the version that this perdure has. Opening an engine does the same; this is for those who want it as a step of its own.",
    )
    .action(async (options: { readonly dryRun?: boolean }) => {
      const isDry = options.dryRun === true
      const db = databaseOf(cli, "migrate")
      const { shown, before, after, newest, pending, functions, backup } = isAddress(db) ? await migrateServer(db, isDry) : await migrateFileOf(cli, isDry)
      const steps = pending.map(({ version, statements }) => `version ${version}: ${statements} statements`)
      cli.print({ db: shown, before, after, newest, pending: isDry ? pending : [], functions }, () => {
        if (pending.length === 0 && functions > 0) return isDry ? `${functions} functions to be created\n` : `created ${functions} functions\n`
        if (pending.length === 0)
          return `schema version ${before}${before > newest ? `, newer than the ${newest} of this perdure, which it may work with` : ", the newest"}; nothing to do\n`
        if (isDry)
          return `schema version ${before}; to be done:\n${steps.map((step) => `  ${step}\n`).join("")}Back it up first (${backup}), then run perdure migrate.\n`
        return before === 0 ? `made the tables, of schema version ${after}\n` : `migrated from schema version ${before} to ${after}\n`
      })
    })
}

interface Migrated {
  /** The database as it is printed, without passwords. */
  readonly shown: string
  readonly before: number
  readonly after: number
  readonly newest: number
  readonly pending: readonly { readonly version: number; readonly statements: number }[]
  /** How many functions the migration creates in a PostgreSQL database. */
  readonly functions: number
  /** The command that makes a copy of the database. */
  readonly backup: string
}

async function migrateFileOf(cli: Invocation, isDry: boolean): Promise<Migrated> {
  const db = databaseFileOf(cli, "migrate")
  const before = schemaOf(db).version
  if (before === 0) throw new PerdureError("DATABASE_UNREADABLE", `"${db}" is not a database of Perdure; it was not changed`)
  // The migration runs also if nothing is to be done, because it refuses a database that is too new.
  if (!isDry) await migrateFile(db)
  return { shown: db, before, after: schemaOf(db).version, newest: newestSchema, pending: pendingMigrations(before), functions: 0, backup: "perdure backup" }
}

/** Creates the tables if the database has none, because the role of the workers may lack the right to create them. */
async function migrateServer(db: string, isDry: boolean): Promise<Migrated> {
  const {
    migrateDatabase,
    missingFunctions,
    newestSchema: newest,
    pendingMigrations: pendingOf,
    schemaVersion,
  } = await import("../../stores/postgres/maintenance.ts")
  return inspect(db, async (database) => {
    const before = (await schemaVersion(database)).version
    const functions = await missingFunctions(database)
    if (!isDry) await migrateDatabase(database)
    const after = (await schemaVersion(database)).version
    return { shown: serverName(db), before, after, newest, pending: pendingOf(before), functions, backup: "pg_dump" }
  })
}
