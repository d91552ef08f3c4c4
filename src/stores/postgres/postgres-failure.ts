import { PerdureError } from "../../core/errors.ts"

/** PostgreSQL's own codes (https://www.postgresql.org/docs/current/errcodes-appendix.html), those of its classes that have an answer of their own. */
const serverGone = new Set(["57P01", "57P02", "57P03", "53300", "08000", "08003", "08006", "08001", "08004", "25006"])
const again = new Set(["40P01", "40001", "55P03"])
const networkGone = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND", "EHOSTUNREACH", "ENETUNREACH", "EAI_AGAIN"])

/** The server is not there, or not reachable, for now: nothing is wrong with what was asked. */
export function isUnreachable(error: unknown): boolean {
  const code = codeOf(error)
  if (code !== undefined && (serverGone.has(code) || networkGone.has(code))) return true
  return error instanceof Error && /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/.test(error.message)
}

/** Rolled back because of what others did at the same time: the same once more may succeed. */
export function isCollision(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && again.has(code)
}

/** Nothing was sent: no connection came about. */
export function isUnsent(error: unknown): boolean {
  const code = codeOf(error)
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "57P03" || code === "53300"
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined
  return typeof error.code === "string" ? error.code : undefined
}

/** What the server refused, in our words. Of anything else nothing is known, and it stays what it is. */
export function postgresFailure(cause: unknown): unknown {
  if (PerdureError.is(cause) || isUnreachable(cause)) return cause
  const code = codeOf(cause)
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code)) return cause
  const message = cause instanceof Error ? cause.message : String(cause)
  const fail = (kind: PerdureError["code"], text: string) => new PerdureError(kind, text, { details: { postgresCode: code }, cause })
  if (code === "53100") return fail("DISK_FULL", `PostgreSQL has no room left to write (${message}); free some disk space, nothing was half written`)
  if (code === "28P01" || code === "28000")
    return fail("DATABASE_UNREADABLE", `PostgreSQL refused the user or password (${message}); see the connection string`)
  if (code === "3D000") return fail("DATABASE_UNREADABLE", `${message}; create the database, or give another in the connection string`)
  if (code === "42501")
    return fail("READ_ONLY", `PostgreSQL refused for want of rights (${message}); the role needs CREATE on the database, or all rights on perdure's schema`)
  return fail("STORE_FAILED", `PostgreSQL failed: ${message}`)
}
