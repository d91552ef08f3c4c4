import { DatabaseSync } from "node:sqlite"
import { sequence, sleeper } from "./bench-workflows.ts"
import { databaseIn, openEngine } from "./engine-on-disk.ts"

/** Rows of one statement. Progress is reported after each statement. */
const copiesAtOnce = 25_000

/** Fills a database with `rows` rows of instances and journals. Half of the instances are completed, and half sleep for long. */
export async function crowd(folder: string, rows: number, progress: (text: string) => void): Promise<void> {
  const engine = await openEngine(folder)
  const done = await engine.start(sequence, { id: "done", input: 1 })
  await done.result()
  const asleep = await engine.start(sleeper, { id: "asleep", input: 30 * 24 * 3_600_000 })
  while ((await asleep.status()) !== "sleeping") await new Promise((resolve) => setTimeout(resolve, 5))
  await engine.close()
  const database = new DatabaseSync(databaseIn(folder))
  try {
    multiply(database, rows, progress)
  } finally {
    database.close()
  }
}

/**
 * Copies the rows of the engine under other ids until there are `rows` rows. SQLite copies them, which
 * takes seconds, not minutes. Each copy is created, and due, a millisecond after the one before, because lists and claims are ordered by these times.
 */
function multiply(database: DatabaseSync, rows: number, progress: (text: string) => void): void {
  const numberOf = (sql: string) => Number(database.prepare(sql).get()?.["n"])
  const originals = numberOf("SELECT count(*) + (SELECT count(*) FROM perdure_journal) AS n FROM perdure_instance")
  const copies = Math.ceil(rows / originals) - 1
  const apart = numberOf("SELECT max(key) AS n FROM perdure_instance")
  const later = `c.n - ${copies + 1}`
  const instance = {
    key: `t.key + c.n * ${apart}`,
    id: "t.id || '-' || c.n",
    created_at: `t.created_at + ${later}`,
    updated_at: `t.updated_at + ${later}`,
    due_at: `t.due_at + c.n`,
  }
  const copy = (table: string, changed: Readonly<Record<string, string>>, originalKey: string) => {
    for (let from = 1; from <= copies; from += copiesAtOnce) {
      copyRows(database, table, [from, Math.min(copies, from + copiesAtOnce - 1)], `${originalKey} <= ${apart}`, changed)
      progress(`${table}: copied ${Math.min(copies, from + copiesAtOnce - 1)} of ${copies} times`)
    }
  }
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN")
  copy("perdure_instance", instance, "key")
  copy("perdure_journal", { instance: `t.instance + c.n * ${apart}` }, "instance")
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
}

function copyRows(
  database: DatabaseSync,
  table: string,
  [from, to]: readonly [number, number],
  isOriginal: string,
  changed: Readonly<Record<string, string>>,
): void {
  // This list has no generated columns. SQLite assigns `seq`.
  const columns = database
    .prepare(`SELECT name FROM pragma_table_info('${table}') WHERE name <> 'seq'`)
    .all()
    .map(({ name }) => String(name))
  const values = columns.map((column) => changed[column] ?? `t.${column}`)
  database.exec(
    `WITH RECURSIVE c(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM c WHERE n < ${to})
    INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM c CROSS JOIN (SELECT * FROM ${table} WHERE ${isOriginal}) t`,
  )
}
