import { messageOf } from "../core/values/error-text.ts"
import { PerdureError, type ErrorCode } from "../core/errors.ts"
import { DialectError } from "./dialects/dialect-error.ts"
import { encodeDocument } from "./plain-body.ts"
import type { Answer } from "./route-definition.ts"
import { statusOfCode } from "./status-codes.ts"
import type { ErrorBody } from "./wire-format.ts"

/** Answers with an error that the code of a workflow threw. A caller that accepts the rich form gets the whole error. */
export function answerFailure(status: number, code: ErrorCode, failure: unknown, more: { readonly status?: string } = {}): Answer {
  const body: ErrorBody = { error: { code, message: messageOf(failure) }, ...more, failure }
  return { status, value: body }
}

/** Messages for callers, in place of the server's own messages, which may name addresses, databases, files and statements. */
const publicMessages: Partial<Readonly<Record<ErrorCode, string>>> = {
  CODEC_FAILED: "a codec of the server failed at a value",
  CODEC_MISSING: "a value was encoded by a codec that the server does not have",
  DATABASE_BUSY: "another program locks the database; try again",
  DATABASE_CORRUPT: "the database is damaged; restore it from a backup",
  DATABASE_GONE: "the database is gone, and the server has stopped using it; put the database back and start the server again",
  DATABASE_TOO_NEW: "a later version wrote the database; upgrade the server",
  DATABASE_UNREADABLE: "the server cannot open the database",
  DISK_FULL: "the database has no room left to write; free some disk space",
  READ_ONLY: "the server may not write to the database",
  SHARD_FAILED: "a part of the index did not answer; try again",
  STORE_FAILED: "the database failed at this request",
  STORE_UNREACHABLE: "the database did not answer; try again",
  UNREACHABLE: "what the server needed for this request did not answer; try again",
}

/** Errors of the server whose messages name only workflows, versions and shards. Callers see these messages as they are. */
const publicCodes: ReadonlySet<ErrorCode> = new Set(["ENGINE_CLOSED", "NO_WORKER", "STREAM_CUT_OFF"])

export interface PublicError {
  readonly status: number
  readonly error: { readonly code: string; readonly message: string; readonly details?: Readonly<Record<string, unknown>> }
}

/** An error as callers may see it. An error of the server has its code, a plain sentence and the id under which the log has the full error. */
export function publicError(error: unknown, id: () => string): PublicError {
  if (error instanceof DialectError) return { status: error.status, error: { code: error.code, message: error.message } }
  const isOurs = PerdureError.is(error)
  const status = (isOurs ? statusOfCode[error.code] : undefined) ?? 500
  if (isOurs && (status < 500 || publicCodes.has(error.code))) {
    const details = status < 500 ? error.details : { ...error.details, id: id() }
    return { status, error: { code: error.code, message: error.message, ...(Object.keys(details).length === 0 ? undefined : { details }) } }
  }
  const publicMessage = isOurs ? publicMessages[error.code] : undefined
  const code = isOurs && publicMessage !== undefined ? error.code : "INTERNAL_ERROR"
  const isUnknown = isOurs && error.details["isUnknown"] === true
  const message = `${publicMessage ?? "the server failed at this request; its log says why"}${isUnknown ? "; the request may have taken effect" : ""}`
  return { status, error: { code, message, details: { ...(isUnknown ? { isUnknown } : undefined), id: id() } } }
}

/** The status and the body of an error, as plain JSON. `id`: the id of the error in the log. */
export function errorAnswer(error: unknown, id: () => string): { readonly status: number; readonly body: string } {
  const { status, error: shown } = publicError(error, id)
  // Only the details may be too large.
  return { status, body: `{"error":${encodeDocument(shown satisfies ErrorBody["error"])}}` }
}
