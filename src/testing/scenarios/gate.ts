/** A promise that the test settles: code that awaits the gate is under way until then. */
export class Gate<T = void> {
  readonly passed: Promise<T>
  #open!: (value: T) => void
  #fail!: (error: unknown) => void

  constructor() {
    this.passed = new Promise<T>((open, fail) => {
      this.#open = open
      this.#fail = fail
    })
    // A rejection that no code awaits must not end the process.
    this.passed.catch(() => undefined)
  }

  open(value: T): void {
    this.#open(value)
  }

  fail(error: unknown): void {
    this.#fail(error)
  }
}
