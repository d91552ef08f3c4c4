/** A promise that is settled from outside, once. One that rejects counts as handled: if nobody looks at it, the process must not go down. */
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
