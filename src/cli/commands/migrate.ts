import type { Command } from "commander"
import { PerdureError } from "../../core/errors.ts"
import { migrateFile, newestSchema, pendingMigrations, schemaOf } from "../../stores/sqlite/database-file.ts"
import { databaseFileOf } from "../database-target.ts"
import type { Invocation } from "../invocation.ts"

export function addMigrate(program: Command, cli: Invocation): void {
  program
    .command("migrate")
    .option("--dry-run", "only say what would be done")
    .addHelpText(
      "after",
      "\nBrings the tables in a database to the version that this perdure has. Opening an engine does the same; this is for those who want it as a step of its own.",
    )
    .action((options: { readonly dryRun?: boolean }) => {
      const db = databaseFileOf(cli, "migrate")
      const before = schemaOf(db)
      if (before.version === 0) throw new PerdureError("DATABASE_UNREADABLE", `"${db}" is no database of Perdure; it was not changed`)
      const pending = pendingMigrations(before.version)
      const isDry = options.dryRun === true
      // Also where there is nothing to do: a database that is too new says so.
      if (!isDry) migrateFile(db)
      const after = schemaOf(db).version
      const steps = pending.map(({ version, statements }) => `version ${version}: ${statements} statements`)
      cli.print({ db, before: before.version, after, newest: newestSchema, pending: isDry ? pending : [] }, () => {
        if (pending.length === 0)
          return `schema version ${before.version}${before.version > newestSchema ? `, newer than the ${newestSchema} of this perdure, which it may work with` : ", the newest"}; nothing to do\n`
        if (isDry)
          return `schema version ${before.version}; to be done:\n${steps.map((step) => `  ${step}\n`).join("")}Back it up first (perdure backup), then run perdure migrate.\n`
        return `migrated from schema version ${before.version} to ${after}\n`
      })
    })
}
