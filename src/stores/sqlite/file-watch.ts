import { statSync } from "node:fs"
import { resolve } from "node:path"
import { PerdureError } from "../../core/errors.ts"

/**
 * Notices that the file of an open database was deleted, or that another file has its name. SQLite goes on writing to the old file then,
 * which nobody can open any more. It compares inode numbers, as SQLite itself does where it has no write-ahead log. A file that somebody
 * overwrites in place keeps its inode and is not noticed. The log beside the database is watched as well: commits go there first.
 */
export class FileWatch {
  readonly #database: WatchedFile
  readonly #log: WatchedFile

  /** To be called once the database is open. */
  constructor(path: string) {
    // Absolute: the process may change its folder later.
    const absolute = resolve(path)
    this.#database = new WatchedFile(absolute)
    this.#log = new WatchedFile(`${absolute}-wal`)
  }

  /** What has happened to the file; undefined: nothing. Two calls of the operating system, some microseconds. */
  look(): PerdureError | undefined {
    const file = [this.#database, this.#log].find((watched) => watched.isGone())
    if (file === undefined) return undefined
    const happened = file.isPresent() ? "replaced by another file" : "deleted or renamed"
    return new PerdureError(
      "STORE_REPLACED",
      `"${file.path}" was ${happened} while it was open; this engine has stopped and writes nothing more. Put the right file in its place, then start the process again`,
      { details: { path: file.path } },
    )
  }
}

class WatchedFile {
  readonly path: string
  /** Undefined: SQLite has not made the file yet. */
  #inode: bigint | undefined

  constructor(path: string) {
    this.path = path
    this.#inode = this.#read()
  }

  isGone(): boolean {
    const inode = this.#read()
    if (this.#inode === undefined) this.#inode = inode
    return inode !== this.#inode
  }

  isPresent(): boolean {
    return this.#read() !== undefined
  }

  #read(): bigint | undefined {
    return statSync(this.path, { bigint: true, throwIfNoEntry: false })?.ino
  }
}
