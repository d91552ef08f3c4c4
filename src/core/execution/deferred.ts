/** A promise that is settled from outside, once. A rejection counts as handled: an unobserved rejection must not end the process. */
export class Deferred {
  readonly promise: Promise<unknown>
  isSettled = false
  #resolve!: (value: unknown) => void
  #reject!: (error: unknown) => void

  constructor() {
    this.promise = new Promise<unknown>((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  resolve(value: unknown): void {
    this.isSettled = true
    this.#resolve(value)
  }

  reject(error: unknown): void {
    this.isSettled = true
    this.promise.catch(() => undefined)
    this.#reject(error)
  }
}
