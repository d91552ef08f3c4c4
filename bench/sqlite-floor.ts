// The floor of SQLite. The engine's rows are read back from its own database and inserted by one prepared statement each into a fresh
// file with the engine's own tables and indexes, under the pragmas that the engine sets.

import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { databaseIn, openEngine } from "./engine-on-disk.ts"
import { checkTotal, type Floor, type RawCommits } from "./floor.ts"
import type { Folders } from "./workload.ts"

const pragmas = "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000"

type Row = readonly SQLInputValue[]

interface Table {
  readonly insert: string
  readonly rows: readonly Row[]
}

export class SqliteFloor implements Floor {
  readonly #folders: Folders
  readonly #template: string
  readonly #journal: Table
  readonly #instances: Table

  private constructor(folders: Folders, template: string, journal: Table, instances: Table) {
    this.#folders = folders
    this.#template = template
    this.#journal = journal
    this.#instances = instances
  }

  /** Reads the rows from the database of a closed engine. */
  static async capture(folders: Folders, captured: string): Promise<SqliteFloor> {
    const empty = folders.create()
    await (await openEngine(empty)).close()
    const database = new DatabaseSync(databaseIn(captured), { readOnly: true })
    try {
      return new SqliteFloor(folders, databaseIn(empty), readTable(database, "perdure_journal", "seq"), readTable(database, "perdure_instance", "key"))
    } finally {
      database.close()
    }
  }

  async grouped(sizes: readonly number[], options: { readonly withInstances: boolean }): Promise<number> {
    const { rows } = this.#journal
    checkTotal(sizes, rows.length)
    using database = this.#open()
    const transaction = transactionOn(database)
    const journal = database.prepare(this.#journal.insert)
    const instance = database.prepare(this.#instances.insert)
    const startedAt = performance.now()
    let from = 0
    for (const size of sizes) {
      transaction(() => {
        if (from === 0 && options.withInstances) for (const row of this.#instances.rows) instance.run(...row)
        for (let at = from; at < from + size; at++) journal.run(...rows[at]!)
      })
      from += size
    }
    return performance.now() - startedAt
  }

  async rawCommits(): Promise<RawCommits> {
    return new SqliteRawCommits(this.#open(), this.#journal)
  }

  #open(): DatabaseSync {
    const path = join(this.#folders.create(), "floor.db")
    copyFileSync(this.#template, path)
    const database = new DatabaseSync(path)
    database.exec(pragmas)
    return database
  }
}

class SqliteRawCommits implements RawCommits {
  readonly #database: DatabaseSync
  readonly #rows: readonly Row[]
  readonly #insert: StatementSync
  readonly #transaction: (write: () => void) => void
  #written = 0

  constructor(database: DatabaseSync, { insert, rows }: Table) {
    this.#database = database
    this.#rows = rows
    this.#insert = database.prepare(insert)
    this.#transaction = transactionOn(database)
  }

  async next(): Promise<number> {
    return this.#next()
  }

  async take(count: number): Promise<readonly number[]> {
    return Array.from({ length: count }, () => this.#next())
  }

  #next(): number {
    const row = this.#rows[this.#written++]
    if (row === undefined) throw new Error("more raw commits are wanted than rows were captured")
    const startedAt = performance.now()
    this.#transaction(() => this.#insert.run(...row))
    return performance.now() - startedAt
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#database.close()
  }
}

function readTable(database: DatabaseSync, table: string, order: string): Table {
  const stored = database.prepare(`SELECT * FROM ${table} ORDER BY ${order}`).all()
  const [first] = stored
  if (first === undefined) throw new Error(`the engine left no rows in ${table}`)
  // SQLite computes generated columns and the key of the journal, as it does for the engine.
  const columns = Object.keys(first).filter((column) => column !== "claim_at" && column !== "claimable_at" && column !== "seq" && column !== "chunks")
  const insert = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`
  return { insert, rows: stored.map((row) => columns.map((column) => row[column]!)) }
}

function transactionOn(database: DatabaseSync): (write: () => void) => void {
  const begin: StatementSync = database.prepare("BEGIN IMMEDIATE")
  const commit = database.prepare("COMMIT")
  return (write) => {
    begin.run()
    write()
    commit.run()
  }
}
