/** The shortest time between two notifications of one store, and between two hints that the store passes on. */
const coalesceMs = 5

/** Collects flags and passes them on together: at once if none were passed on just before, else after a short wait. */
export class Coalescer {
  readonly #pass: (flags: ReadonlySet<string>) => Promise<void>
  #flags = new Set<string>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #passing: Promise<void> | undefined
  #lastAt = -Infinity
  #closed = false

  constructor(pass: (flags: ReadonlySet<string>) => Promise<void>) {
    this.#pass = pass
  }

  add(flag: string): void {
    if (this.#closed) return
    this.#flags.add(flag)
    if (this.#timer !== undefined || this.#passing !== undefined) return
    const wait = this.#lastAt + coalesceMs - performance.now()
    if (wait > 0) this.#timer = setTimeout(() => this.#flush(), wait).unref()
    else this.#flush()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  /** Passes on the collected flags, and accepts no further flags. */
  async finish(): Promise<void> {
    this.close()
    await this.#passing
    if (this.#flags.size > 0) await this.#pass(this.#flags)
  }

  #flush(): void {
    this.#timer = undefined
    const flags = this.#flags
    this.#flags = new Set()
    this.#passing = Promise.resolve()
      .then(() => this.#pass(flags))
      .finally(() => {
        this.#passing = undefined
        this.#lastAt = performance.now()
        const more = [...this.#flags]
        if (!this.#closed) for (const flag of more) this.add(flag)
      })
  }
}
