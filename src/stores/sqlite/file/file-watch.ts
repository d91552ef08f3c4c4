import { existsSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { PerdureError } from "../../../core/errors.ts"
import { RawFile } from "./raw-file.ts"

/** No database is shorter: its header and the smallest page. SQLite writes the first page before it uses a write-ahead log. */
const bytesMin = 512

/**
 * Notices that the file of an open database was deleted, that another file has its name, or that another program wrote over it. SQLite goes on
 * writing then, to a file that nobody can open any more, or into one that is not its own.
 *
 *   look      after each commit, before anybody is told of it: the inode and the length of the file, and that its log is there
 *   inspect   about once a second, if the file was written to since: its header and its counters, without the log
 *
 * Inode numbers are what SQLite itself compares where it has no write-ahead log. Commits go to the log first, so the log must be there as
 * well. The inode of the log is not asked for: whoever reads the times of a file makes the operating system write exact times with the next
 * change, and each commit takes half as long again. The database file itself changes only with a checkpoint.
 */
export class FileWatch {
  readonly #database: string
  readonly #log: string
  readonly #inode: bigint | undefined
  readonly #raw: RawFile
  readonly #open: OpenDatabase
  #bytes: number
  /** When the file had last been written to as it was inspected. */
  #inspectedOf: bigint | undefined
  /** SQLite makes the log when it first writes. */
  #hasLog = false

  /** To be called once the database is open. */
  constructor(path: string, open: OpenDatabase) {
    // Absolute: the process may change its folder later.
    this.#database = resolve(path)
    this.#log = `${this.#database}-wal`
    const file = statOf(this.#database)
    this.#inode = file?.ino
    this.#bytes = Number(file?.size ?? 0)
    this.#raw = new RawFile(this.#database)
    this.#open = open
    this.#hasLog = existsSync(this.#log)
  }

  /** What has happened to the file; undefined: nothing. Two calls of the operating system, some microseconds. */
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

  /** The same of what is in the file. Some tens of microseconds, if anybody wrote to the file since the last time. */
  inspect(): PerdureError | undefined {
    const writtenAt = statOf(this.#database)?.mtimeNs
    if (writtenAt === this.#inspectedOf) return undefined
    const isOurs = this.#raw.isOf(() => this.#open.counter())
    if (isOurs === false) return gone(this.#database, "overwritten by another program", overwritten(this.#database))
    // What cannot be told is looked at again.
    if (isOurs) this.#inspectedOf = writtenAt
    return undefined
  }

  /** A checkpoint shortens the file only after a VACUUM, and then the database is as short. */
  #isCutOff(bytes: number): boolean {
    try {
      return bytes < bytesMin || this.#open.bytes() >= this.#bytes
    } catch {
      // The connection cannot even read its first page.
      return true
    }
  }
}

/** What the connection knows, which sees the log as well. */
interface OpenDatabase {
  /** How long the database is. */
  bytes(): number
  /** How many instances it ever had. */
  counter(): number
}

function statOf(path: string) {
  return statSync(path, { bigint: true, throwIfNoEntry: false })
}

const putBack = "Put the right file in its place, then start the process again"

/** The log holds commits that were made to what the file was before. SQLite would write them into whatever has the name. */
function overwritten(path: string): string {
  return `End the process, move "${path}-wal" and "${path}-shm" away, put the right file in its place, then start the process again`
}

function gone(path: string, happened: string, wayOut: string): PerdureError {
  return new PerdureError("DATABASE_GONE", `"${path}" was ${happened} while it was open; this engine has stopped. ${wayOut}`, { details: { path } })
}
