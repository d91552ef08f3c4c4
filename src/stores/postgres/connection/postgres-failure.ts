import { PerdureError } from "../../../core/errors.ts"
import { purposeOf } from "./statement-purpose.ts"

/** PostgreSQL's error codes that the store handles (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const serverGone = new Set(["57P01", "57P02", "57P03", "57P05", "25P03", "53300", "08000", "08003", "08006", "08001", "08004", "08P01", "25006"])
const again = new Set(["40P01", "40001", "55P03"])
const networkGone = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "EAI_AGAIN"])
const driverSays = /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout/

/** The server cannot be reached for now. Nothing is wrong with the statement. */
export function isUnreachable(error: unknown): boolean {
  if (PerdureError.is(error)) return error.code === "STORE_UNREACHABLE"
  const code = codeOf(error)
  if (code !== undefined && (serverGone.has(code) || networkGone.has(code))) return true
  return error instanceof Error && driverSays.test(error.message)
}

/** The transaction was rolled back because of concurrent transactions. It may succeed when it is repeated. */
export function isCollision(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && again.has(code)
}

/** The connection does not know a statement that was prepared on it, or knows a statement that was not. Nothing was executed. */
export function isMisprepared(error: unknown): boolean {
  const code = codeOf(error)
  return code === "26000" || code === "42P05"
}

/** A statement calls a function that the database does not have. The transaction was rolled back. */
export function isUndefinedFunction(error: unknown): boolean {
  return codeOf(error) === "42883" || (PerdureError.is(error, "STORE_FAILED") && error.details?.["postgresCode"] === "42883")
}

/** Another transaction has written a row with the same key. The transaction was rolled back. */
export function isTaken(error: unknown): boolean {
  return codeOf(error) === "23505" || (PerdureError.is(error, "STORE_FAILED") && error.details?.["postgresCode"] === "23505")
}

/** Nothing was sent, because no connection could be opened. */
export function isUnsent(error: unknown): boolean {
  const code = codeOf(error)
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "57P03" || code === "53300"
}

/** The code that the server itself answered. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error)
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !networkGone.has(code) ? code : undefined
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined
  return typeof error.code === "string" ? error.code : undefined
}

/** A statement that failed, and the server. */
export interface Attempted {
  /** For example `127.0.0.1:5432, database "app"`. */
  readonly server: string
  /** The last statement that was sent. Undefined: there was no connection. */
  readonly statement: string | undefined
}

/** Turns an error of the driver into an error that says where and what was tried, and what to do. Other errors are returned as they are. */
export function postgresFailure(cause: unknown, { server, statement }: Attempted): unknown {
  if (PerdureError.is(cause)) return cause
  const code = codeOf(cause)
  const message = cause instanceof Error ? cause.message : String(cause)
  const doing = purposeOf(statement)
  const place = `PostgreSQL (${server})`
  const why = code === undefined || message.includes(code) ? message : `${code}: ${message}`
  const unknown = "it is not known whether that was done; call again with the same id"
  if (isUnreachable(cause)) {
    const isUnknown = statement !== undefined
    const next = isUnknown ? unknown : "nothing was done; try again"
    return new PerdureError("STORE_UNREACHABLE", `${place} did not answer while ${doing} (${why}); check that the server runs and can be reached; ${next}`, {
      details: { server, doing, reason: code ?? message, isUnknown },
      cause,
    })
  }
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code)) return cause
  const fail = (kind: PerdureError["code"], text: string) =>
    new PerdureError(kind, text, {
      details: { postgresCode: code, server, doing, reason: code, isUnknown: false },
      cause,
    })
  if (code === "53100") return fail("DISK_FULL", `${place} has no room left to write, while ${doing} (${why}); free some disk space; nothing was written`)
  if (code === "28P01" || code === "28000")
    return fail("DATABASE_UNREADABLE", `${place} refused the user or password, while ${doing} (${why}); check the connection string`)
  if (code === "3D000") return fail("DATABASE_UNREADABLE", `${place}: ${message}; create the database, or give another in the connection string`)
  if (code === "42501")
    return fail(
      "READ_ONLY",
      `${place} refused because the role lacks rights, while ${doing} (${why}); grant it CREATE on the database, or all rights on perdure's schema`,
    )
  if (isCollision(cause))
    return fail("STORE_FAILED", `${place} rolled back again and again because of concurrent transactions, while ${doing} (${why}); try again`)
  return fail("STORE_FAILED", `${place} failed while ${doing} (${why})`)
}
