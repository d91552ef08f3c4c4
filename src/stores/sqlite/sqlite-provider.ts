import { type Duration, durationMs } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { databasePath } from "./file/database-path.ts"
import { openSqliteStore } from "./sqlite-store.ts"

/** SQLite would wait for a lock inside a statement and block the process. `LockQueue` waits instead. */
const neverBlock = "PRAGMA busy_timeout = 0"
const busyTimeoutMsDefault = 5_000
/** If a long read transaction made the write-ahead log longer than this, SQLite cuts the log to this length after a checkpoint. */
const logBytesMax = 16 * 1024 * 1024

/** Options of `sqlite`; everything has a default. */
export interface SqliteOptions {
  /**
   * What a committed turn survives. `disk` (the default): a power failure, too. `process`: the death of the process; a power failure
   * may lose the last commits. `process` is faster where commits are small.
   */
  readonly durability?: "disk" | "process"
  /** How often the store looks for writes of other processes. Default 20 ms. */
  readonly pollInterval?: Duration
  /**
   * How long a write, or the opening of the file, waits while another process holds the write lock of the file. After that time the write
   * fails with `DATABASE_BUSY`, and nothing is written. The process is not blocked while it waits. Default 5 s.
   */
  readonly busyTimeout?: Duration
  /** How many pages of 4 KiB the file may have at most. Use it to try out a full disk. Default: no limit. */
  readonly maxPageCount?: number
}

/**
 * A store in a SQLite file. One process at a time executes workflows. Other processes that open the file can start, send, list and wait, and
 * they stand by to take over. `file` is a path, a `file:` URL, or the text of such a URL. ":memory:" is a store that ends with the engine.
 * Throws `BAD_OPTION` for wrong options. The engine opens the file later (`DATABASE_UNREADABLE`, `DATABASE_CORRUPT`).
 *
 * @example
 * const engine = await Perdure.open({ store: sqlite("app.db"), workflows: [order] })
 */
export function sqlite(file: string | URL, options: SqliteOptions = {}): StoreProvider {
  const path = databasePath(file)
  const { durability = "disk", pollInterval = 20, busyTimeout = busyTimeoutMsDefault, maxPageCount } = options
  if (durability !== "disk" && durability !== "process")
    throw new PerdureError("BAD_OPTION", `durability is ${JSON.stringify(durability)}; give "disk" or "process"`)
  if (maxPageCount !== undefined && !(Number.isSafeInteger(maxPageCount) && maxPageCount > 0)) {
    throw new PerdureError("BAD_OPTION", `maxPageCount is ${String(maxPageCount)}; give a whole number of at least 1`)
  }
  const pollIntervalMs = Math.max(1, durationMs(pollInterval, "pollInterval"))
  const busyTimeoutMs = durationMs(busyTimeout, "busyTimeout")
  const settings = [
    neverBlock,
    `PRAGMA journal_mode = WAL`,
    `PRAGMA synchronous = ${durability === "disk" ? "FULL" : "NORMAL"}`,
    `PRAGMA cache_size = -16000`,
    `PRAGMA journal_size_limit = ${logBytesMax}`,
    ...(maxPageCount === undefined ? [] : [`PRAGMA max_page_count = ${maxPageCount}`]),
  ]
  return {
    name: "sqlite",
    isVolatile: path === ":memory:",
    hasOneWorker: path !== ":memory:",
    open: async (context) => openSqliteStore({ path, settings: settings.join("; "), pollIntervalMs, busyTimeoutMs, context }),
  }
}

/** A store that only reads, and leaves the file as it is. The file must have the schema that this code knows. */
export function sqliteReader(path: string): StoreProvider {
  const settings = `${neverBlock}; PRAGMA cache_size = -16000`
  return {
    name: "sqlite",
    open: async (context) =>
      openSqliteStore({ path, settings, pollIntervalMs: 1_000, busyTimeoutMs: busyTimeoutMsDefault, context: { ...context, role: "client" }, readOnly: true }),
  }
}
