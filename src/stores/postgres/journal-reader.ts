import type { JournalRow } from "../../ports/journal-store.ts"
import { toText } from "../odd-text.ts"
import { integer } from "./columns.ts"
import type { Database } from "./database.ts"
import { journalColumns, toJournalRow } from "./journal-row.ts"
import { readJournal } from "./queries-of-one.ts"

/** So many are read by one statement: of those that were claimed together, most have few rows. */
const journalsMax = 50

/** Reads journals. Those that are wanted at the same moment come in one round trip. */
export class JournalReader {
  readonly #database: Database
  #wanted: Wanted[] = []

  constructor(database: Database) {
    this.#database = database
  }

  read(id: string, from: number): Promise<readonly JournalRow[]> {
    return new Promise((resolve, reject) => {
      this.#wanted.push({ id, from, resolve, reject })
      if (this.#wanted.length === 1) void Promise.resolve().then(() => this.#send())
    })
  }

  #send(): void {
    const all = this.#wanted
    this.#wanted = []
    for (let from = 0; from < all.length; from += journalsMax) void this.#sendSome(all.slice(from, from + journalsMax))
  }

  async #sendSome(wanted: readonly Wanted[]): Promise<void> {
    try {
      const journals = wanted.length === 1 ? [await this.#one(wanted[0]!)] : await this.#several(wanted)
      wanted.forEach(({ resolve }, at) => resolve(journals[at] ?? []))
    } catch (error) {
      if (wanted.length === 1) for (const { reject } of wanted) reject(error)
      // One that cannot be read must not keep the others from theirs.
      else for (const one of wanted) await this.#sendSome([one])
    }
  }

  #one({ id, from }: Wanted): Promise<readonly JournalRow[]> {
    return readJournal(this.#database, this.#database.schema, id, from)
  }

  async #several(wanted: readonly Wanted[]): Promise<readonly (readonly JournalRow[])[]> {
    const rows = await this.#database.all(
      "journals",
      `SELECT j.n, ${journalColumns} FROM ${this.#database.schema}.read_journals($1, $2) j`,
      wanted.map(({ id }) => toText(id)),
      wanted.map(({ from }) => from),
    )
    const journals: JournalRow[][] = wanted.map(() => [])
    for (const row of rows) {
      const at = integer(row, "n") - 1
      // The row before the first may end before it.
      if (integer(row, "position") + integer(row, "count") > (wanted[at]?.from ?? 0)) journals[at]?.push(toJournalRow(row))
    }
    return journals
  }
}

interface Wanted {
  readonly id: string
  readonly from: number
  readonly resolve: (rows: readonly JournalRow[]) => void
  readonly reject: (error: unknown) => void
}
