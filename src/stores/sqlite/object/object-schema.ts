import type { Migration } from "../schema/schema.ts"
import { addEvents, instanceTables } from "../schema/table-statements.ts"

/**
 * The same tables as in a file, in the database of a Durable Object. That one holds one instance, and is made for it: every table and
 * every index costs the object a page and a start a tenth of a millisecond. So there are no indexes but those that are also
 * constraints, and what most instances never use is made by the driver when a statement first names it. There is no generated column
 * either: SQLite parses its expression anew for each statement that writes the table, so who reads works it out (claimable-row.ts).
 */
export const objectMigrations: readonly Migration[] = [
  {
    version: 4,
    compatible: 4,
    statements: [
      `CREATE TABLE perdure_instance (
        key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, incarnation TEXT NOT NULL, workflow TEXT NOT NULL, version TEXT NOT NULL,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, tags TEXT,
        status TEXT NOT NULL, phase TEXT, due_at INTEGER, owner TEXT, crashed INTEGER NOT NULL DEFAULT 0,
        run INTEGER NOT NULL, run_position INTEGER NOT NULL, end_position INTEGER, mail_at INTEGER, control_at INTEGER,
        priority INTEGER NOT NULL DEFAULT 0, limits TEXT, uniques TEXT, lane TEXT, held INTEGER NOT NULL DEFAULT 0, paid INTEGER NOT NULL DEFAULT 0,
        parked_on TEXT, parked_priority INTEGER, parked_seq INTEGER, parked_until INTEGER, deadline_at INTEGER,
        queue TEXT NOT NULL DEFAULT '', memo TEXT, events TEXT
      ) STRICT`,
      ...instanceTables.perdure_journal,
    ],
  },
  // What a file got with it is an index, which an object has none of, and a table that comes when it is asked for.
  { version: 5, compatible: 4, statements: [] },
  { version: 6, compatible: 4, statements: [addEvents], isInFirst: true },
]

/** The tables that come with the migrations, all at once. */
export const firstTables: ReadonlySet<string> = new Set(["perdure_instance", "perdure_journal"])

/** What makes the tables of an instance that are not there from the beginning. */
const { perdure_journal: _, ...later } = instanceTables

export const laterTables: Readonly<Record<string, readonly string[]>> = later
