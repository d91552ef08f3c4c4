import { PerdureError } from "../../../core/errors.ts"

/** Errors of an object's database end with the name of a result code. These are the numbers of the codes (https://www.sqlite.org/rescode.html). */
const codes: Readonly<Record<string, number>> = {
  SQLITE_ERROR: 1,
  SQLITE_NOMEM: 7,
  SQLITE_INTERRUPT: 9,
  SQLITE_IOERR: 10,
  SQLITE_CORRUPT: 11,
  SQLITE_FULL: 13,
  SQLITE_TOOBIG: 18,
  SQLITE_CONSTRAINT: 19,
  SQLITE_MISMATCH: 20,
  SQLITE_AUTH: 23,
}

/** The Perdure error for a failure of an object's SQLite. */
export function objectSqlFailure(cause: unknown): PerdureError {
  if (PerdureError.is(cause)) return cause
  const message = cause instanceof Error ? cause.message : String(cause)
  const sqliteCode = codes[/: (SQLITE_[A-Z]+)(?: \(extended: \w+\))?$/.exec(message)?.[1] ?? ""] ?? 0
  const options = { details: { sqliteCode }, cause }
  if (sqliteCode === codes["SQLITE_FULL"]) {
    return new PerdureError("DISK_FULL", "the storage of the Durable Object is full, and nothing was written; delete data that you do not need", options)
  }
  if (sqliteCode === codes["SQLITE_CORRUPT"]) {
    return new PerdureError("DATABASE_CORRUPT", "the database of the Durable Object is damaged; restore it from a bookmark", options)
  }
  return new PerdureError("STORE_FAILED", `SQLite failed in the Durable Object: ${message}`, options)
}
