export function eitherSignal(first: AbortSignal, second: AbortSignal | undefined): AbortSignal {
  return second ? AbortSignal.any([first, second]) : first
}

/** What comes of it, or undefined if the time is up or a signal comes first. */
export function withinTime<T>(promise: Promise<T>, ms: number, signals: readonly (AbortSignal | undefined)[]): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const giveUp = () => settle(() => resolve(undefined))
    const timer = setTimeout(giveUp, ms)
    const settle = (how: () => void) => {
      clearTimeout(timer)
      for (const signal of signals) signal?.removeEventListener("abort", giveUp)
      how()
    }
    for (const signal of signals) signal?.addEventListener("abort", giveUp)
    if (signals.some((signal) => signal?.aborted === true)) giveUp()
    promise.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
  })
}
