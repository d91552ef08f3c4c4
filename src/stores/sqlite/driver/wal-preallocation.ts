import { statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"

/** After so many transactions a process is busy enough for the log's room to pay: short runs never wait for it. */
const transactionsMin = 32
/** SQLite begins its log again from the start when it has a thousand pages. */
const logBytes = 1_000 * 4_096
/** One that grows by so much in as many transactions grows by large ones, and soon has its whole length by itself. */
const fastGrowthBytes = logBytes / 4

/**
 * Room for SQLite's write-ahead log. The log grows with every commit up to its thousand pages, from where on it is written over
 * and over. As long as the file grows, every commit waits for the file system to record its new length as well, which takes
 * nearly as long again. Here the log gets its length at once, a few milliseconds long: pages of a transaction that is too large
 * for its cache go to the log before it ends, and when it is rolled back they mean nothing, but the file keeps its length.
 */
export class WalPreallocation {
  readonly #path: string
  #transactions = 0
  #length = 0
  #isDone = false

  constructor(path: string) {
    this.#path = path
  }

  /** A transaction was committed, and no other has begun. It never throws: what is committed must not look as if it had failed. */
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
      // There is no log, another process writes, or the disk is full: it works without, and whatever is wrong is said by the next commit.
      this.#isDone = true
    } finally {
      database?.close()
    }
  }
}
