/** Time as the client sees it: tests have one of their own. */
export interface RetryPacing {
  now(): number
  /** Returns the way to call it off. */
  after(ms: number, fire: () => void): () => void
}

export const realPace: RetryPacing = {
  now: () => Date.now(),
  after: (ms, fire) => {
    const timer = setTimeout(fire, ms)
    return () => clearTimeout(timer)
  },
}

/** Rejects with the reason if the signal is aborted before. */
export function sleep(pace: RetryPacing, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error)
    const stop = () => {
      callOff()
      reject(signal.reason as Error)
    }
    const callOff = pace.after(ms, () => {
      signal.removeEventListener("abort", stop)
      resolve()
    })
    signal.addEventListener("abort", stop, { once: true })
  })
}
