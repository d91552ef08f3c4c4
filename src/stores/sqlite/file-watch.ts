import { existsSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { PerdureError } from "../../core/errors.ts"

/**
 * Notices that the file of an open database was deleted, or that another file has its name. SQLite goes on writing to the old file then,
 * which nobody can open any more. It compares inode numbers, as SQLite itself does where it has no write-ahead log. A file that somebody
 * overwrites in place keeps its inode and is not noticed.
 *
 * Commits go to the log beside the database first, so the log must be there as well. Its inode is not asked for: whoever reads the times of
 * a file makes the operating system write exact ones with the next change, and each commit takes half as long again.
 */
export class FileWatch {
  readonly #database: string
  readonly #log: string
  readonly #inode: bigint | undefined
  /** SQLite makes the log when it first writes. */
  #hasLog = false

  /** To be called once the database is open. */
  constructor(path: string) {
    // Absolute: the process may change its folder later.
    this.#database = resolve(path)
    this.#log = `${this.#database}-wal`
    this.#inode = inodeOf(this.#database)
    this.#hasLog = existsSync(this.#log)
  }

  /** What has happened to the file; undefined: nothing. Two calls of the operating system, some microseconds. */
  look(): PerdureError | undefined {
    const inode = inodeOf(this.#database)
    if (inode !== this.#inode) return replaced(this.#database, inode === undefined ? "deleted or renamed" : "replaced by another file")
    const hasLog = existsSync(this.#log)
    if (this.#hasLog && !hasLog) return replaced(this.#log, "deleted or renamed")
    this.#hasLog = hasLog
    return undefined
  }
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino
}

function replaced(path: string, happened: string): PerdureError {
  return new PerdureError(
    "STORE_REPLACED",
    `"${path}" was ${happened} while it was open; this engine has stopped and writes nothing more. Put the right file in its place, then start the process again`,
    { details: { path } },
  )
}
