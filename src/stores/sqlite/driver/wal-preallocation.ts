import { statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"

/** A process with this many transactions is busy enough for preallocation to pay. Short runs never wait for it. */
const transactionsMin = 32
/** SQLite starts its log again from the beginning when the log has a thousand pages. */
const logBytes = 1_000 * 4_096
/** A log that grows by this much within `transactionsMin` transactions soon has its whole length without help. */
const fastGrowthBytes = logBytes / 4

/**
 * Gives SQLite's write-ahead log its full length at once, which takes some milliseconds. Otherwise the log grows with every commit until it has a thousand
 * pages; after that SQLite overwrites it again and again. While the file grows, each commit also waits until the file system has stored the new
 * length, which takes nearly as long as the commit itself. This class runs a transaction that is too large for its cache, so SQLite writes its
 * pages to the log, and rolls the transaction back: the pages mean nothing then, but the file keeps its length.
 */
export class WalPreallocation {
  readonly #path: string
  #transactions = 0
  #length = 0
  #isDone = false

  constructor(path: string) {
    this.#path = path
  }

  /** Call this after each commit, outside any transaction. It never throws, because a committed transaction must not look failed. */
  committed(): void {
    if (this.#isDone || ++this.#transactions % transactionsMin !== 0) return
    let database: DatabaseSync | undefined
    try {
      const { size } = statSync(`${this.#path}-wal`)
      const growsFast = size - this.#length >= fastGrowthBytes
      this.#length = size
      this.#isDone = size >= logBytes || !growsFast
      if (size >= logBytes || growsFast) return
      database = new DatabaseSync(this.#path, { timeout: 0 })
      database.exec(
        `PRAGMA cache_size = 10; BEGIN IMMEDIATE; CREATE TABLE perdure_wal_preallocation (bytes BLOB); INSERT INTO perdure_wal_preallocation VALUES (zeroblob(${logBytes})); ROLLBACK`,
      )
    } catch {
      // There is no log, another process writes, or the disk is full. Commits work without preallocation, and the next commit reports what is wrong.
      this.#isDone = true
    } finally {
      database?.close()
    }
  }
}
