export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function"
}

/** Calls a function, and returns its result or its error as a promise. */
export function callAsPromise(run: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(run())
  } catch (error) {
    return Promise.reject(error)
  }
}

/** Marks a promise as handled: a rejection that the workflow code ignores must not end the process. */
export function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}
