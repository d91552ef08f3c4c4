// The floor of PostgreSQL. The engine's rows are read back from its own schema and inserted into a fresh one with the engine's own tables
// and indexes: on one connection, by one prepared statement that takes a transaction's rows as arrays (`unnest`).

import type { Client } from "pg"
import { Perdure } from "perdure"
import { workflows } from "./bench-workflows.ts"
import { checkTotal, type Floor, type RawCommits } from "./floor.ts"
import { connect, schemaOf, storeOnPostgres } from "./postgres-place.ts"
import type { Folders } from "./workload.ts"

interface Column {
  readonly name: string
  readonly type: string
}

/** A row in the text format of PostgreSQL: a text or null for each column. */
type Row = readonly (string | null)[]

interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly rows: readonly Row[]
}

export class PostgresFloor implements Floor {
  readonly #folders: Folders
  readonly #journal: Table
  readonly #instances: Table

  private constructor(folders: Folders, journal: Table, instances: Table) {
    this.#folders = folders
    this.#journal = journal
    this.#instances = instances
  }

  /** Reads the rows from the schema of a closed engine. */
  static async capture(folders: Folders, captured: string): Promise<PostgresFloor> {
    const client = await connect()
    try {
      // PostgreSQL assigns the number of the transaction, as it does for the engine.
      const journal = await readTable(client, schemaOf(captured), "journal", "xid, seq", ["xid"])
      return new PostgresFloor(folders, journal, await readTable(client, schemaOf(captured), "instance", "key", []))
    } finally {
      await client.end()
    }
  }

  async grouped(sizes: readonly number[], options: { readonly withInstances: boolean }): Promise<number> {
    checkTotal(sizes, this.#journal.rows.length)
    const { client, schema } = await this.#open()
    try {
      const instances = columnsOf(this.#instances, this.#instances.rows)
      const transactions = slices(this.#journal.rows, sizes).map((rows) => columnsOf(this.#journal, rows))
      // The warm-up prepares each statement, once per connection.
      await insert(client, schema, this.#journal, columnsOf(this.#journal, []))
      const startedAt = performance.now()
      if (options.withInstances) await insert(client, schema, this.#instances, instances)
      for (const columns of transactions) await insert(client, schema, this.#journal, columns)
      return performance.now() - startedAt
    } finally {
      await client.end()
    }
  }

  async rawCommits(): Promise<RawCommits> {
    const { client, schema } = await this.#open()
    return new PostgresRawCommits(client, schema, this.#journal)
  }

  async #open(): Promise<{ readonly client: Client; readonly schema: string }> {
    const folder = this.#folders.create()
    await (await Perdure.open({ store: storeOnPostgres(folder), workflows })).close()
    return { client: await connect(), schema: schemaOf(folder) }
  }
}

class PostgresRawCommits implements RawCommits {
  readonly #client: Client
  readonly #schema: string
  readonly #table: Table
  #written = 0

  constructor(client: Client, schema: string, table: Table) {
    this.#client = client
    this.#schema = schema
    this.#table = table
  }

  async next(): Promise<number> {
    const row = this.#table.rows[this.#written++]
    if (row === undefined) throw new Error("more raw commits are wanted than rows were captured")
    const columns = columnsOf(this.#table, [row])
    const startedAt = performance.now()
    await insert(this.#client, this.#schema, this.#table, columns)
    return performance.now() - startedAt
  }

  async take(count: number): Promise<readonly number[]> {
    const times: number[] = []
    while (times.length < count) times.push(await this.next())
    return times
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#client.end()
  }
}

async function readTable(client: Client, schema: string, name: string, order: string, without: readonly string[]): Promise<Table> {
  const { rows: columns } = await client.query<Column>(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type FROM pg_attribute a
    WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> ALL ($2) ORDER BY a.attnum`,
    [`${schema}.${name}`, without],
  )
  const { rows } = await client.query<(string | null)[]>({
    text: `SELECT ${columns.map((column) => `${column.name}::text`).join(", ")} FROM ${schema}.${name} ORDER BY ${order}`,
    rowMode: "array",
  })
  if (rows.length === 0) throw new Error(`the engine left no rows in ${name}`)
  return { name, columns, rows }
}

/** The columns as texts of arrays, made in advance, because this is no work of the database. A rare column of arrays is text as well. */
function columnsOf({ columns }: Table, rows: readonly Row[]): readonly string[] {
  const element = (value: string | null | undefined) => (value === null || value === undefined ? "NULL" : `"${value.replaceAll(/["\\]/g, "\\$&")}"`)
  return columns.map((_, at) => `{${rows.map((row) => element(row[at])).join(",")}}`)
}

async function insert(client: Client, schema: string, { name, columns }: Table, values: readonly string[]): Promise<void> {
  const names = columns.map((column) => column.name)
  const given = columns.map(({ type }, at) => `$${at + 1}::${type.endsWith("[]") ? "text" : type}[]`)
  const selected = columns.map((column) => (column.type.endsWith("[]") ? `t.${column.name}::${column.type}` : `t.${column.name}`))
  await client.query({
    name: `${schema}.${name}`,
    text: `INSERT INTO ${schema}.${name} (${names.join(", ")}) SELECT ${selected.join(", ")} FROM unnest(${given.join(", ")}) AS t (${names.join(", ")})`,
    values: [...values],
  })
}

function slices<T>(all: readonly T[], sizes: readonly number[]): readonly (readonly T[])[] {
  let from = 0
  return sizes.map((size) => all.slice(from, (from += size)))
}
