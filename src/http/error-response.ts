import { messageOf } from "../core/values/error-text.ts"
import { PerdureError, type ErrorCode } from "../core/errors.ts"
import { encodeDocument } from "./plain-body.ts"
import type { Answer } from "./route-definition.ts"
import { statusOfCode } from "./status-codes.ts"
import type { ErrorBody } from "./wire-format.ts"

/** What a workflow's own code threw, as the answer: it travels whole to a caller who speaks the rich form. */
export function answerFailure(status: number, code: ErrorCode, failure: unknown, more: { readonly status?: string } = {}): Answer {
  const body: ErrorBody = { error: { code, message: messageOf(failure) }, ...more, failure }
  return { status, value: body }
}

/** What callers are told of an error of the server, in place of its message: that may name addresses, databases, files and statements. */
const sentences: Partial<Readonly<Record<ErrorCode, string>>> = {
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

/** Errors of the server whose messages name nothing but workflows, versions and parts. */
const openCodes: ReadonlySet<ErrorCode> = new Set(["ENGINE_CLOSED", "NO_WORKER", "STREAM_CUT_OFF"])

export interface PublicError {
  readonly status: number
  readonly error: { readonly code: string; readonly message: string; readonly details?: Readonly<Record<string, unknown>> }
}

/** An error as callers may see it. Of an error of the server they are told the code, a plain sentence and the id that the log has the rest under. */
export function publicError(error: unknown, id: () => string): PublicError {
  const isOurs = PerdureError.is(error)
  const status = (isOurs ? statusOfCode[error.code] : undefined) ?? 500
  if (isOurs && (status < 500 || openCodes.has(error.code))) {
    const details = status < 500 ? error.details : { ...error.details, id: id() }
    return { status, error: { code: error.code, message: error.message, ...(Object.keys(details).length === 0 ? undefined : { details }) } }
  }
  const sentence = isOurs ? sentences[error.code] : undefined
  const code = isOurs && sentence !== undefined ? error.code : "INTERNAL_ERROR"
  const isUnknown = isOurs && error.details["isUnknown"] === true
  const message = `${sentence ?? "the server failed at this request; its log says why"}${isUnknown ? "; whether it did what was asked for is not known" : ""}`
  return { status, error: { code, message, details: { ...(isUnknown ? { isUnknown } : undefined), id: id() } } }
}

/** The status and the body of an error, as plain JSON. `id` is what the log has it under. */
export function errorAnswer(error: unknown, id: () => string): { readonly status: number; readonly body: string } {
  const { status, error: shown } = publicError(error, id)
  // Only its details may be too large.
  return { status, body: `{"error":${encodeDocument(shown satisfies ErrorBody["error"])}}` }
}
