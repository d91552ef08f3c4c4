import { existsSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { PerdureError } from "../../../core/errors.ts"
import { RawFile } from "./raw-file.ts"

/** The smallest page. SQLite writes the first page before it uses a write-ahead log, so no database is shorter. */
const bytesMin = 512

/**
 * Notices that the file of an open database was deleted, replaced by another file, or overwritten by another program. SQLite does not notice: it
 * would write on, to a file that no process can open any more, or into the file of another database.
 *
 *   look      after each commit, before its caller hears of it: checks the inode and the length of the file, and that the log exists
 *   inspect   about once a second, if the file was written to since: checks the header and the counter in the file, without the log
 *
 * SQLite itself compares inode numbers for databases without a write-ahead log. Commits go to the log first, so the log must exist, too. `look`
 * does not read the inode of the log: reading the times of a file makes the operating system store exact times with the next change, and
 * then each commit takes half as long again. The database file changes only with checkpoints.
 */
export class FileWatch {
  readonly #database: string
  readonly #log: string
  readonly #inode: bigint | undefined
  readonly #raw: RawFile
  readonly #open: OpenDatabase
  #bytes: number
  /** The modification time that the file had at the last inspection. */
  #inspectedWriteAt: bigint | undefined
  /** SQLite creates the log with its first write. */
  #hasLog = false

  /** Call this once the database is open. */
  constructor(path: string, open: OpenDatabase) {
    // An absolute path, because the process may change its working directory later.
    this.#database = resolve(path)
    this.#log = `${this.#database}-wal`
    const file = statOf(this.#database)
    this.#inode = file?.ino
    this.#bytes = Number(file?.size ?? 0)
    this.#raw = new RawFile(this.#database)
    this.#open = open
    this.#hasLog = existsSync(this.#log)
  }

  /** The error if the file is gone; undefined: the file is there. Two system calls, some microseconds. */
  look(): PerdureError | undefined {
    const file = statOf(this.#database)
    if (file?.ino !== this.#inode) return gone(this.#database, file === undefined ? "deleted or renamed" : "replaced by another file", putBack)
    const bytes = Number(file?.size ?? 0)
    if (bytes < this.#bytes && this.#isCutOff(bytes)) return gone(this.#database, "cut off by another program", overwritten(this.#database))
    this.#bytes = bytes
    const hasLog = existsSync(this.#log)
    if (this.#hasLog && !hasLog) return gone(this.#log, "deleted or renamed", putBack)
    this.#hasLog = hasLog
    return undefined
  }

  /** The error if the content of the file is not this database's; undefined: the content may be. Some tens of microseconds after a write to the file. */
  inspect(): PerdureError | undefined {
    const writtenAt = statOf(this.#database)?.mtimeNs
    if (writtenAt === this.#inspectedWriteAt) return undefined
    const isOurs = this.#raw.isOf(() => this.#open.counter())
    if (isOurs === false) return gone(this.#database, "overwritten by another program", overwritten(this.#database))
    // If the content could not be judged, the next inspection looks again.
    if (isOurs) this.#inspectedWriteAt = writtenAt
    return undefined
  }

  /** A checkpoint shortens the file only after a VACUUM, and then the open database has that length, too. */
  #isCutOff(bytes: number): boolean {
    try {
      return bytes < bytesMin || this.#open.bytes() >= this.#bytes
    } catch {
      // The connection cannot even read its first page.
      return true
    }
  }
}

/** The state of the database as the open connection sees it, with the log. */
interface OpenDatabase {
  /** The length of the database. */
  bytes(): number
  /** How many instances the database has had so far. */
  counter(): number
}

function statOf(path: string) {
  return statSync(path, { bigint: true, throwIfNoEntry: false })
}

const putBack = "Put the right file in its place, then start the process again"

/** The log holds commits to the earlier content of the file. SQLite would write these commits into the file that has the name now. */
function overwritten(path: string): string {
  return `End the process, move "${path}-wal" and "${path}-shm" away, put the right file in its place, then start the process again`
}

function gone(path: string, happened: string, wayOut: string): PerdureError {
  return new PerdureError("DATABASE_GONE", `"${path}" was ${happened} while it was open; this engine has stopped. ${wayOut}`, { details: { path } })
}
