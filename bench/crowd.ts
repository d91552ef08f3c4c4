import { DatabaseSync } from "node:sqlite"
import { sequence, sleeper } from "./bench-workflows.ts"
import { databaseIn, openEngine } from "./engine-on-disk.ts"

/** Fills a database with so many rows of instances and journals: half of the instances are completed, half sleep for long. */
export async function crowd(folder: string, rows: number): Promise<void> {
  const engine = await openEngine(folder)
  const done = await engine.start(sequence, { id: "done", input: 1 })
  await done.result()
  const asleep = await engine.start(sleeper, { id: "asleep", input: 30 * 24 * 3_600_000 })
  while ((await asleep.status()) !== "sleeping") await new Promise((resolve) => setTimeout(resolve, 5))
  await engine.close()
  const database = new DatabaseSync(databaseIn(folder))
  try {
    multiply(database, rows)
  } finally {
    database.close()
  }
}

/** Copies what is there, under other ids, until there are so many rows. The engine's own rows, but written by SQLite alone: it takes seconds, not minutes. */
function multiply(database: DatabaseSync, rows: number): void {
  const numberOf = (sql: string) => Number(database.prepare(sql).get()?.["n"])
  const originals = numberOf("SELECT count(*) + (SELECT count(*) FROM perdure_journal) AS n FROM perdure_instance")
  const copies = Math.ceil(rows / originals)
  const apart = numberOf("SELECT max(key) AS n FROM perdure_instance")
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN")
  copyRows(database, "perdure_instance", copies, { key: `t.key + c.n * ${apart}`, id: "t.id || '-' || c.n" })
  copyRows(database, "perdure_journal", copies, { instance: `t.instance + c.n * ${apart}` })
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
}

function copyRows(database: DatabaseSync, table: string, copies: number, changed: Readonly<Record<string, string>>): void {
  // Generated columns are hidden from this list, and `seq` is given by SQLite.
  const columns = database
    .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE name <> 'seq'`)
    .all()
    .map(({ name }) => String(name))
  const values = columns.map((column) => changed[column] ?? `t.${column}`)
  database.exec(
    `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${copies})
    INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM c CROSS JOIN (SELECT * FROM ${table}) t`,
  )
}
