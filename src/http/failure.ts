import { messageOf } from "../core/error-text.ts"
import { PerdureError, type ErrorCode } from "../core/errors.ts"
import { encodeDocument as encodePlain } from "./plain-body.ts"
import type { Answer } from "./route.ts"
import { statusOfCode } from "./status-codes.ts"
import type { ErrorBody } from "./wire.ts"

/** What a workflow's own code threw, as the answer: it travels whole to a caller who speaks the rich form. */
export function answerFailure(status: number, code: ErrorCode, failure: unknown, more: { readonly status?: string } = {}): Answer {
  const body: ErrorBody = { error: { code, message: messageOf(failure) }, ...more, failure }
  return { status, value: body }
}

/** The status and the body of an error, as plain JSON. `id` is what the log has it under. */
export function errorAnswer(error: unknown, id: () => string): { readonly status: number; readonly body: string } {
  if (!PerdureError.is(error)) return { status: 500, body: bodyOf("INTERNAL_ERROR", "the server failed at this request; its log says why", { id: id() }) }
  const { code, message } = error
  const status = statusOfCode[code] ?? 500
  const details: Readonly<Record<string, unknown>> = status >= 500 ? { ...error.details, id: id() } : error.details
  return { status, body: bodyOf(code, message, details) }
}

function bodyOf(code: string, message: string, details: Readonly<Record<string, unknown>>): string {
  const body: ErrorBody = { error: { code, message, ...(Object.keys(details).length === 0 ? undefined : { details }) } }
  return encodePlain(body)
}
