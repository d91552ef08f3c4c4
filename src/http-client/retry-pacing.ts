/** The clock and the timers of the client. Tests replace them. */
export interface RetryPacing {
  now(): number
  /** Returns a function that cancels the timer. */
  after(ms: number, fire: () => void): () => void
}

export const realPace: RetryPacing = {
  now: () => Date.now(),
  after: (ms, fire) => {
    const timer = setTimeout(fire, ms)
    return () => clearTimeout(timer)
  },
}

/** Resolves after this time. Rejects with the reason of the signal if the signal is aborted before. */
export function sleep(pace: RetryPacing, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    const stop = () => {
      cancel()
      reject(signal.reason as Error)
    }
    const cancel = pace.after(ms, () => {
      signal.removeEventListener("abort", stop)
      resolve()
    })
    signal.addEventListener("abort", stop, { once: true })
  })
}
