/** What stands in the place of a value that is not shown. Plain data, so that it says the same in JSON. */
export type Hidden =
  | {
      /** `"redacted"`: it was marked as sensitive. `"encoded"`: by a codec that this engine does not have, or that could not read it. */
      readonly $perdure: "redacted"
    }
  | {
      readonly $perdure: "encoded"
      /** The id of the codec that encoded the value. */
      readonly codec: string
    }

export const redacted: Hidden = Object.freeze({ $perdure: "redacted" })

/** Whether a value that `describe`, `steps` or `history` shows is not the value itself, but stands in its place: it is sensitive, or cannot be decoded here. */
export function isHidden(value: unknown): value is Hidden {
  if (typeof value !== "object" || value === null || !("$perdure" in value)) return false
  return value.$perdure === "redacted" || value.$perdure === "encoded"
}

/** Errors that came out of sensitive values: what they say must not come out another way. */
const sensitiveErrors = new WeakSet<object>()

/** Answers the error. */
export function markSensitive<T>(error: T): T {
  if (typeof error === "object" && error !== null) sensitiveErrors.add(error)
  return error
}

/** It, or what caused it, is of a sensitive value. */
export function isSensitiveError(error: unknown, depthMax = 10): boolean {
  if (typeof error !== "object" || error === null || depthMax === 0) return false
  if (sensitiveErrors.has(error)) return true
  if ("cause" in error && isSensitiveError(error.cause, depthMax - 1)) return true
  return error instanceof AggregateError && error.errors.some((one) => isSensitiveError(one, depthMax - 1))
}

/** As it may be logged. */
export function shownError(error: unknown): unknown {
  return isSensitiveError(error) ? redacted : error
}
