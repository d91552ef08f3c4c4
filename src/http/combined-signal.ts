export function eitherSignal(first: AbortSignal, second: AbortSignal | undefined): AbortSignal {
  return second ? AbortSignal.any([first, second]) : first
}

/** Resolves or rejects as the promise does, or resolves with undefined when the time is over or a signal is aborted first. */
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
