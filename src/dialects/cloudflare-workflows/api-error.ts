import { PerdureError } from "../../core/errors.ts"
import { WorkflowError } from "./workflow-errors.ts"

/** An error as the API of Cloudflare Workflows gives it. */
export interface ApiError {
  readonly code: string
  readonly message: string
}

const codeInMessage = /^\(([\w.]+)\) /

/** Undefined: Cloudflare Workflows has no such error. */
export function apiErrorOf(error: unknown): ApiError | undefined {
  if (PerdureError.is(error, "NOT_FOUND")) return { code: "instance.not_found", message: "instance.not_found" }
  if (!(error instanceof WorkflowError)) return undefined
  const [, code = "instance.invalid_id"] = codeInMessage.exec(error.message) ?? []
  return { code, message: error.message }
}
