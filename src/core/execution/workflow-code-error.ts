/** Errors that the code of a workflow threw, to tell them from what went wrong on the way to them: both may have the same code. */
const thrown = new WeakSet<object>()

/** Answers the error. */
export function markCodeError<T>(error: T): T {
  if (typeof error === "object" && error !== null) thrown.add(error)
  return error
}

/** What is no object is thrown by nobody else. */
export function isCodeError(error: unknown): boolean {
  return typeof error !== "object" || error === null || thrown.has(error)
}
