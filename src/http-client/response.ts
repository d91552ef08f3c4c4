import { markCodeError } from "../core/execution/workflow-code-error.ts"
import { PerdureError, type ErrorCode } from "../core/errors.ts"
import { passingTroubles } from "../core/values/transient-error.ts"
import { decodeRich, isRichType, parseJson } from "../http/wire-format.ts"

/** What a server said to a request. */
export interface HttpAnswer {
  readonly status: number
  readonly value: unknown
  /** What went wrong, as the server's engine told it. */
  readonly error?: PerdureError
  /** An earlier sending of the same request may have been carried out. */
  readonly isRepeat: boolean
}

/** Worth another try: nobody answered, or somebody on the way did. */
export class TransientError extends Error {
  override readonly name = "TransientError"
  /** The server has not seen the request. */
  readonly isUntouched: boolean
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: { readonly cause?: unknown; readonly isUntouched?: boolean; readonly retryAfterMs?: number | undefined } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined)
    this.isUntouched = options.isUntouched ?? false
    this.retryAfterMs = options.retryAfterMs
  }
}

const passingStatuses = new Set([429, 502, 503, 504])
/** The server is being closed, or its store does not answer for a moment. */
const passingCodes = new Set<ErrorCode>(["ENGINE_CLOSED", ...passingTroubles])

/** Throws a TransientError where asking again may help. */
export async function readAnswer(response: Response): Promise<Omit<HttpAnswer, "isRepeat">> {
  const { status } = response
  const text = await textOf(response)
  if (status === 204) return { status, value: undefined }
  const value = valueOf(response, text)
  if (response.ok && value !== notOurs) return { status, value }
  const error = response.ok ? undefined : errorOf(value)
  if (error && !passingCodes.has(error.code)) return { status, value, error }
  if (passingStatuses.has(status) || error)
    throw new TransientError(error?.message ?? `it answered ${status}`, { cause: error, retryAfterMs: retryAfterOf(response) })
  throw new PerdureError("UNREACHABLE", `it answered ${status} and the answer is not from a Perdure server; check the address`, { details: { status } })
}

/** Throws what the answer says went wrong: the workflow's own error, or the engine's. */
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

const notOurs = Symbol("not ours")

function valueOf(response: Response, text: string): unknown {
  const type = response.headers.get("content-type")
  try {
    if (isRichType(type)) return decodeRich(text)
    if (type?.includes("json") === true) return parseJson(text)
  } catch {
    // It was cut off on its way, or is somebody else's.
  }
  return notOurs
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
    // Somebody else's.
  }
  if (error && !passingCodes.has(error.code)) return error
  return new TransientError(error?.message ?? "the stream failed", { cause: error })
}

function retryAfterOf(response: Response): number | undefined {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined
}
