import { markCodeError } from "../core/execution/workflow-code-error.ts"
import { PerdureError, type ErrorCode } from "../core/errors.ts"
import { passingTroubles } from "../core/values/transient-error.ts"
import { decodeRich, isRichType, parseJson } from "../http/wire-format.ts"

/** The answer of a server to a request. */
export interface HttpAnswer {
  readonly status: number
  readonly value: unknown
  /** The error that the engine of the server threw. */
  readonly error?: PerdureError
  /** True if the request was sent before and may have taken effect then. */
  readonly isRepeat: boolean
}

/** A failure that another try may overcome: there was no answer, or a proxy answered. */
export class TransientError extends Error {
  override readonly name = "TransientError"
  /** True if the request did not reach the server. */
  readonly isUnsent: boolean
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: { readonly cause?: unknown; readonly isUnsent?: boolean; readonly retryAfterMs?: number | undefined } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined)
    this.isUnsent = options.isUnsent ?? false
    this.retryAfterMs = options.retryAfterMs
  }
}

const transientStatuses = new Set([429, 502, 503, 504])
/** The server is closing, or its store does not answer for a moment. */
const transientCodes = new Set<ErrorCode>(["ENGINE_CLOSED", ...passingTroubles])

/** Throws a TransientError if another try may help. */
export async function readAnswer(response: Response): Promise<Omit<HttpAnswer, "isRepeat">> {
  const { status } = response
  const text = await textOf(response)
  if (status === 204) return { status, value: undefined }
  const value = valueOf(response, text)
  if (response.ok && value !== foreignBody) return { status, value }
  const error = response.ok ? undefined : errorOf(value)
  if (error && !transientCodes.has(error.code)) return { status, value, error }
  if (transientStatuses.has(status) || error)
    throw new TransientError(error?.message ?? `it answered ${status}`, { cause: error, retryAfterMs: retryAfterOf(response) })
  throw new PerdureError("UNREACHABLE", `it answered ${status} and the answer is not from a Perdure server; check the address`, { details: { status } })
}

/** Returns the value of the answer. Throws the error that it has: an error of the workflow, or one of the engine. */
export function valueIn({ value, error }: HttpAnswer): unknown {
  if (!error) return value
  if (failureCodes.has(error.code) && typeof value === "object" && value !== null && "failure" in value) throw markCodeError(value.failure)
  throw error
}

const failureCodes = new Set<ErrorCode>(["INSTANCE_FAILED", "INSTANCE_CANCELLED", "INSTANCE_TERMINATED", "HANDLER_FAILED"])

async function textOf(response: Response): Promise<string> {
  try {
    return await response.text()
  } catch (cause) {
    throw new TransientError("its answer broke off", { cause })
  }
}

const foreignBody = Symbol("foreign body")

function valueOf(response: Response, text: string): unknown {
  const type = response.headers.get("content-type")
  try {
    if (isRichType(type)) return decodeRich(text)
    if (type?.includes("json") === true) return parseJson(text)
  } catch {
    // The body was cut off, or another server has sent it.
  }
  return foreignBody
}

export function errorOf(body: unknown): PerdureError | undefined {
  const { error } = (typeof body === "object" && body !== null ? body : {}) as { readonly error?: unknown }
  if (typeof error !== "object" || error === null) return undefined
  const { code, message, details } = error as { readonly code?: unknown; readonly message?: unknown; readonly details?: unknown }
  if (typeof code !== "string" || typeof message !== "string") return undefined
  return new PerdureError(code as ErrorCode, message, typeof details === "object" && details !== null ? { details: details as Record<string, unknown> } : {})
}

/** The error that a stream ends with. */
export function streamError(data: string): Error {
  let error: PerdureError | undefined
  try {
    error = errorOf(parseJson(data))
  } catch {
    // Another server has sent the event.
  }
  if (error && !transientCodes.has(error.code)) return error
  return new TransientError(error?.message ?? "the stream failed", { cause: error })
}

function retryAfterOf(response: Response): number | undefined {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined
}
