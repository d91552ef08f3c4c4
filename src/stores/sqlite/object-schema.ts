import { type Migration, migrations } from "./schema.ts"

/**
 * The same tables as in a file, in the database of a Durable Object. That one holds one instance, and is made for it: every table and
 * every index costs the object a page and a start a tenth of a millisecond. So there are no indexes but those that are also
 * constraints, and what most instances never use is made by the driver when a statement first names it (`objectParts`).
 */
export const objectMigrations: readonly Migration[] = [
  {
    version: 4,
    compatible: 4,
    statements: [
      `CREATE TABLE perdure_instance (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        incarnation TEXT NOT NULL,
        workflow TEXT NOT NULL,
        version TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        tags TEXT,
        status TEXT NOT NULL,
        phase TEXT,
        due_at INTEGER,
        owner TEXT,
        crashed INTEGER NOT NULL DEFAULT 0,
        run INTEGER NOT NULL,
        run_position INTEGER NOT NULL,
        end_position INTEGER,
        mail_at INTEGER,
        control_at INTEGER,
        priority INTEGER NOT NULL DEFAULT 0,
        limits TEXT,
        uniques TEXT,
        lane TEXT,
        held INTEGER NOT NULL DEFAULT 0,
        paid INTEGER NOT NULL DEFAULT 0,
        parked_on TEXT,
        parked_priority INTEGER,
        parked_seq INTEGER,
        parked_until INTEGER,
        deadline_at INTEGER,
        ${columnOf("claimable_at")},
        queue TEXT NOT NULL DEFAULT '',
        memo TEXT
      ) STRICT`,
      ...statementsOf("perdure_journal"),
    ],
  },
]

/** What makes a table or an index that is not there from the beginning. */
export function objectParts(name: string): readonly string[] {
  if (fromTheBeginning.has(name)) return []
  const known = foundParts.get(name) ?? statementsOf(name)
  foundParts.set(name, known)
  return known
}

/** They are looked for in all statements, and asked for by every object. */
const foundParts = new Map<string, readonly string[]>()

const fromTheBeginning = new Set(["perdure_instance", "perdure_journal"])

function all(): readonly string[] {
  return migrations.flatMap(({ statements }) => statements)
}

/** The newest that creates it, and what it has to begin with. */
function statementsOf(name: string): readonly string[] {
  const creation = all().findLast((statement) => new RegExp(`^CREATE (TABLE|INDEX) ${name} `).test(statement))
  return creation === undefined ? [] : [creation, ...all().filter((statement) => statement.startsWith(`INSERT INTO ${name} `))]
}

function columnOf(name: string): string {
  const addition = `ALTER TABLE perdure_instance ADD COLUMN ${name} `
  const statement = all().find((candidate) => candidate.startsWith(addition))
  if (statement === undefined) throw new Error(`no migration adds the column ${name}`)
  return `${name} ${statement.slice(addition.length)}`
}
