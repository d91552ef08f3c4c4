import { isTerminal, type Status } from "../../core/status.ts"
import type { Standing } from "../../ports/directory.ts"
import { toText } from "../odd-text.ts"
import { integer, text } from "./columns.ts"
import type { Database, PgRow } from "./database.ts"
import { journalColumns, toJournalRow } from "./journal-row.ts"

/** So many are read by one statement. */
const standingsMax = 100

/** Reads how instances stand. Those that are asked for at the same moment come in one round trip. */
export class StandingReader {
  readonly #database: Database
  #asked: Asked[] = []

  constructor(database: Database) {
    this.#database = database
  }

  read(id: string): Promise<Standing | undefined> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ id, resolve, reject })
      if (this.#asked.length === 1) void Promise.resolve().then(() => this.#send())
    })
  }

  #send(): void {
    const all = this.#asked
    this.#asked = []
    for (let from = 0; from < all.length; from += standingsMax) void this.#sendSome(all.slice(from, from + standingsMax))
  }

  async #sendSome(asked: readonly Asked[]): Promise<void> {
    try {
      const rows = await this.#database.all(
        "standings",
        `SELECT j.n, j.status, j.end_position, ${journalColumns} FROM ${this.#database.schema}.read_standings($1) j`,
        asked.map(({ id }) => toText(id)),
      )
      const standings = new Map(rows.map((row) => [integer(row, "n") - 1, toStanding(row)]))
      asked.forEach(({ resolve }, at) => resolve(standings.get(at)))
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }
}

interface Asked {
  readonly id: string
  readonly resolve: (standing: Standing | undefined) => void
  readonly reject: (error: unknown) => void
}

function toStanding(row: PgRow): Standing {
  const status = text(row, "status") as Status
  if (!isTerminal(status)) return { status }
  return { status, end: { position: integer(row, "end_position"), rows: row["position"] === null ? [] : [toJournalRow(row)] } }
}
