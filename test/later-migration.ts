import { type Migration, migrations } from "../src/stores/sqlite/schema/schema.ts"

const newest = migrations.at(-1)!

/** What a later version of perdure may add to a SQLite file: columns, an index and a table. */
export const laterMigration: Migration = {
  version: newest.version + 1,
  compatible: newest.compatible,
  statements: [
    `ALTER TABLE perdure_instance ADD COLUMN mood TEXT`,
    `ALTER TABLE perdure_journal ADD COLUMN size INTEGER NOT NULL DEFAULT 0`,
    `CREATE INDEX perdure_instance_mood ON perdure_instance (mood) WHERE mood IS NOT NULL`,
    `CREATE TABLE perdure_mood (name TEXT PRIMARY KEY) STRICT`,
  ],
}

/** Makes the code of this process a later version, whose schema has one migration more. Returns the function that undoes this. */
export function becomeLaterVersion(): () => void {
  const known = migrations as Migration[]
  known.push(laterMigration)
  return () => known.pop()
}
