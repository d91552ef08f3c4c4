/** Time as the client sees it: tests have one of their own. */
export interface Pace {
  now(): number
  /** Returns the way to call it off. */
  after(ms: number, fire: () => void): () => void
}

export const realPace: Pace = {
  now: () => Date.now(),
  after: (ms, fire) => {
    const timer = setTimeout(fire, ms)
    return () => clearTimeout(timer)
  },
}

/** Rejects with the reason if the signal is aborted before. */
export function sleep(pace: Pace, ms: number, signal: AbortSignal): Promise<void> {
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
