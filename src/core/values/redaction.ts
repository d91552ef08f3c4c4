/** The placeholder for a value that is not shown. It is plain data, so it is the same in JSON. */
export type Hidden =
  | {
      /** `"redacted"`: the value is marked as sensitive. `"encoded"`: a codec has encoded it that this engine does not have, or that fails to decode it. */
      readonly $perdure: "redacted"
    }
  | {
      readonly $perdure: "encoded"
      /** The id of the codec that encoded the value. */
      readonly codec: string
    }

export const redacted: Hidden = Object.freeze({ $perdure: "redacted" })

/** Whether a value that `describe`, `steps` or `history` shows is a placeholder, because the real value is sensitive or cannot be decoded here. */
export function isHidden(value: unknown): value is Hidden {
  if (typeof value !== "object" || value === null || !("$perdure" in value)) return false
  return value.$perdure === "redacted" || value.$perdure === "encoded"
}

/** Errors that may contain sensitive values. */
const sensitiveErrors = new WeakSet<object>()

/** Marks an error as sensitive, and returns it. */
export function markSensitive<T>(error: T): T {
  if (typeof error === "object" && error !== null) sensitiveErrors.add(error)
  return error
}

/** Whether the error, or one of its causes, is marked as sensitive. */
export function isSensitiveError(error: unknown, depthMax = 10): boolean {
  if (typeof error !== "object" || error === null || depthMax === 0) return false
  if (sensitiveErrors.has(error)) return true
  if ("cause" in error && isSensitiveError(error.cause, depthMax - 1)) return true
  return error instanceof AggregateError && error.errors.some((one) => isSensitiveError(one, depthMax - 1))
}

/** The error as a log may show it. */
export function shownError(error: unknown): unknown {
  return isSensitiveError(error) ? redacted : error
}
