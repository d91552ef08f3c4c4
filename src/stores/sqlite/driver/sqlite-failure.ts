import { PerdureError } from "../../../core/errors.ts"

/** SQLite's primary result codes for which we have an error of our own (https://www.sqlite.org/rescode.html). */
const busy = 5
const locked = 6
const readOnly = 8
const ioError = 10
const corrupt = 11
const full = 13
const cannotOpen = 14
const notADatabase = 26
/** An extended code: there is no room to map the shared memory of the write-ahead log. */
const ioErrorShmSize = 4874

/** The Perdure error for a failure of SQLite: its message says what failed and what to do. */
export function sqliteFailure(path: string, cause: unknown): PerdureError {
  if (PerdureError.is(cause)) return cause
  const code = extendedCodeOf(cause)
  const fail = (kind: PerdureError["code"], message: string) => new PerdureError(kind, message, { details: { path, sqliteCode: code }, cause })
  if (code === ioErrorShmSize) return fail("DISK_FULL", diskFull(path))
  switch (code & 0xff) {
    case busy:
    case locked:
      return fail("DATABASE_BUSY", `another process kept "${path}" locked for too long; end its long write transaction, or raise busyTimeout`)
    case readOnly:
      return fail("READ_ONLY", `"${path}" cannot be written; make the file and its folder writable for this process`)
    case full:
      return fail("DISK_FULL", diskFull(path))
    case corrupt:
    case notADatabase:
      return fail("DATABASE_CORRUPT", `"${path}" is damaged or is not a SQLite database; restore it from a backup, or give another path`)
    case cannotOpen:
      return fail("DATABASE_UNREADABLE", `"${path}" cannot be opened; check that its folder exists and that this process may read and write there`)
    case ioError:
      return fail("STORE_FAILED", `reading or writing "${path}" failed (${messageOf(cause)}); check the disk`)
    default:
      return fail("STORE_FAILED", `SQLite failed on "${path}": ${messageOf(cause)}`)
  }
}

function diskFull(path: string): string {
  return `there is no room left to write "${path}"; free some disk space; nothing was written`
}

function extendedCodeOf(error: unknown): number {
  if (typeof error !== "object" || error === null || !("errcode" in error)) return 0
  return typeof error.errcode === "number" ? error.errcode : 0
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
