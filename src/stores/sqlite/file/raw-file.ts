import { pathToFileURL } from "node:url"
import { DatabaseSync } from "node:sqlite"

const notADatabase = 26

/**
 * Reads a database file as it is on disk, without its log, to find out whether another program overwrote it. It reads through SQLite: if other code
 * of this process closed the file, the operating system would drop the locks that SQLite holds on it.
 *
 * Checkpoints bring the file from one commit to a later one. So the counter of instances, which SQLite keeps for AUTOINCREMENT, never decreases
 * in the file, and is never above the counter that the open connection sees. Another database, or an older copy of this database, breaks that
 * rule unless its counter happens to lie between the two.
 */
export class RawFile {
  readonly #url: string
  /** The counter at the last look. */
  #counter = 0
  #lackedCounter = false

  constructor(path: string) {
    const url = pathToFileURL(path)
    // With `immutable` SQLite takes no locks and ignores the log.
    url.searchParams.set("immutable", "1")
    this.#url = url.href
  }

  /** Whether the file may belong to the database whose counter `counterOf` reads. Undefined: this look cannot tell. */
  isOf(counterOf: () => number): boolean | undefined {
    const found = this.#read()
    if (found === "unreadable") return undefined
    if (found === "no database") return false
    if (found === "no counter") {
      // Before the first checkpoint the file has no tables. A checkpoint may be under way as well, but not at two looks in a row.
      const lacksCounterAgain = this.#lackedCounter
      this.#lackedCounter = this.#counter > 0
      return lacksCounterAgain ? false : undefined
    }
    this.#lackedCounter = false
    const before = this.#counter
    this.#counter = found
    // The connection's counter is read last, because another process may write between the two reads.
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
