import type { Migration } from "../schema/schema.ts"
import { instanceColumnDefinitions, instanceTables } from "../schema/table-statements.ts"

/**
 * The tables of a file, in the database of a Durable Object. An object holds one instance, and every table and index costs the object a page
 * and a start a tenth of a millisecond. So an object has no indexes except those of constraints. The driver creates the tables that most
 * instances never need when a statement first writes to them. There is no generated column either: SQLite parses its expression again for each
 * statement that writes the table, so readers compute the value (claimable-row.ts).
 */
export const objectMigrations: readonly Migration[] = [
  {
    version: 1,
    compatible: 1,
    statements: [`CREATE TABLE perdure_instance (${instanceColumnDefinitions}) STRICT`, ...instanceTables.perdure_journal],
  },
]

/** The tables that the migrations create. */
export const firstTables: ReadonlySet<string> = new Set(["perdure_instance", "perdure_journal"])

const { perdure_journal: _, ...later } = instanceTables

/** The statements that create the other tables of an instance, by table name. */
export const laterTables: Readonly<Record<string, readonly string[]>> = later
