import { pathToFileURL } from "node:url"
import { DatabaseSync } from "node:sqlite"

const notADatabase = 26

/**
 * A database file as it is on disk, without the log beside it, to tell whether another program wrote over it. Only SQLite may open the file
 * in this process: if anybody else closes it, the operating system drops the locks that SQLite has there.
 *
 * Checkpoints bring the file from one commit to a later one. So the counter of instances, which SQLite keeps for AUTOINCREMENT, never goes back
 * in the file, and is never ahead of what the connection sees. Another database, or an older copy of this one, breaks that rule, unless its
 * counter happens to lie between the two.
 */
export class RawFile {
  readonly #url: string
  /** What the file said last. */
  #counter = 0
  #isMissed = false

  constructor(path: string) {
    const url = pathToFileURL(path)
    // Without locks, and without the log.
    url.searchParams.set("immutable", "1")
    this.#url = url.href
  }

  /** Whether the file may be that of the database whose counter `counterOf` reads. Undefined: it cannot be told now. */
  isOf(counterOf: () => number): boolean | undefined {
    const found = this.#read()
    if (found === "unreadable") return undefined
    if (found === "no database") return false
    if (found === "no counter") {
      // Before the first checkpoint the file has no tables. It may also be in the middle of a checkpoint, but not twice in a row.
      const isMissedAgain = this.#isMissed
      this.#isMissed = this.#counter > 0
      return isMissedAgain ? false : undefined
    }
    this.#isMissed = false
    const before = this.#counter
    this.#counter = found
    // The connection is asked last: another process may have written to both meanwhile.
    return found >= before && found <= counterOf()
  }

  #read(): number | "no counter" | "no database" | "unreadable" {
    let database: DatabaseSync | undefined
    try {
      database = new DatabaseSync(this.#url, { readOnly: true })
      if (database.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'`).get() === undefined) return "no counter"
      const row = database.prepare(counterQuery).get()
      return row === undefined ? "no counter" : Number(row["seq"])
    } catch (error) {
      return error instanceof Error && "errcode" in error && error.errcode === notADatabase ? "no database" : "unreadable"
    } finally {
      database?.close()
    }
  }
}

export const counterQuery = `SELECT seq FROM sqlite_sequence WHERE name = 'perdure_instance'`
