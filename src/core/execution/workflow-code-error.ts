/** Errors that workflow code has thrown. They are marked because an error of the engine or of the transport may have the same code. */
const thrown = new WeakSet<object>()

/** Marks an error as thrown by workflow code, and returns it. */
export function markCodeError<T>(error: T): T {
  if (typeof error === "object" && error !== null) thrown.add(error)
  return error
}

/** Whether workflow code has thrown the error. Only workflow code throws values that are not objects. */
export function isCodeError(error: unknown): boolean {
  return typeof error !== "object" || error === null || thrown.has(error)
}
