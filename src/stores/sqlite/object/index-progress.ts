import type { IndexRemoval } from "../../../ports/cloudflare/index-shard.ts"
import type { SqlDriver, SqlRow } from "../../../ports/sql-driver.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { getOrRead } from "./object-read-cache.ts"
import { integer, optionalText, text } from "../driver/sql-columns.ts"

/** What an object stores about the index: how far the index has the object's instance, and which removals the index has not acknowledged. */
export interface StoredProgress {
  readonly indexedUpTo: number
  readonly shard: string | undefined
  readonly removed: readonly IndexRemoval[]
}

const table = "perdure_index_progress"
const columns = ["indexed_up_to", "shard", "removed_id", "removed_incarnation"]
/** One statement serves the first write and all later writes, because an object has to parse each statement that it runs. */
const upsert = `INSERT INTO ${table} (id, sender_id, ${columns.join(", ")}) VALUES (1, lower(hex(randomblob(12))), ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}`
const initial: StoredProgress = { indexedUpTo: 0, shard: undefined, removed: [] }

/** Reads and writes the table's one row, which the first write creates. No other class writes the row, so it is read once and then cached. */
export class IndexProgress {
  static readonly definitions: Readonly<Record<string, readonly string[]>> = {
    [table]: [
      `CREATE TABLE ${table} (
        id INTEGER PRIMARY KEY, sender_id TEXT NOT NULL, indexed_up_to INTEGER NOT NULL, shard TEXT, removed_id TEXT, removed_incarnation TEXT
      ) STRICT`,
    ],
  }

  readonly #driver: SqlDriver

  constructor(driver: SqlDriver) {
    this.#driver = driver
  }

  /** A random name, created with the row. After the object's storage was deleted, the object gets another name. */
  senderId(): string {
    if (this.#readStored() === undefined) this.write({})
    return getOrRead(this.#driver, "sender", table, () => text(this.#select("sender_id") ?? {}, "sender_id"))
  }

  read(): StoredProgress {
    return this.#readStored() ?? initial
  }

  write(change: Partial<StoredProgress>): void {
    const progress = { ...this.read(), ...change }
    const { indexedUpTo, shard = null, removed } = progress
    const id = removed[0]?.id
    this.#driver.prepare(upsert).run(indexedUpTo, shard, id === undefined ? null : toText(id), id === undefined ? null : toIncarnations(removed))
    this.#driver.cache?.set("progress", table, progress)
  }

  #readStored(): StoredProgress | undefined {
    return getOrRead(this.#driver, "progress", table, () => toProgress(this.#select(columns.join(", "))))
  }

  #select(selected: string): SqlRow | undefined {
    return this.#driver.prepare(`SELECT ${selected} FROM ${table}`).get()
  }
}

/**
 * One incarnation as its own text, several as a JSON array: no incarnation begins with a bracket. All removals have one id, the id of the object's
 * instance.
 */
function toIncarnations(removed: readonly IndexRemoval[]): string {
  const incarnations = removed.map(({ incarnation }) => incarnation)
  return incarnations.length === 1 ? toText(incarnations[0] ?? "") : JSON.stringify(incarnations)
}

function toProgress(row: SqlRow | undefined): StoredProgress | undefined {
  if (row === undefined) return undefined
  const id = optionalText(row, "removed_id")
  const incarnation = optionalText(row, "removed_incarnation")
  const incarnations = incarnation?.startsWith("[") ? (JSON.parse(incarnation) as readonly string[]) : [incarnation ?? ""]
  return {
    indexedUpTo: integer(row, "indexed_up_to"),
    shard: optionalText(row, "shard"),
    removed: id === undefined ? [] : incarnations.map((each) => ({ id, incarnation: each })),
  }
}
