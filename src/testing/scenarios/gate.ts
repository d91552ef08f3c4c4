/** A promise that the test settles when it wants to: whoever awaits it is under way until then. */
export class Gate<T = void> {
  readonly passed: Promise<T>
  #open!: (value: T) => void
  #fail!: (error: unknown) => void

  constructor() {
    this.passed = new Promise<T>((open, fail) => {
      this.#open = open
      this.#fail = fail
    })
    // Whether anybody looks at it is the test's business.
    this.passed.catch(() => undefined)
  }

  open(value: T): void {
    this.#open(value)
  }

  fail(error: unknown): void {
    this.#fail(error)
  }
}
