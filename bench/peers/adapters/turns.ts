/** Lets so many in at a time, in the order of their coming. For results that are polled: more at once would only take the database's time from the workflows. */
export class Turns {
  #free: number
  readonly #queue: (() => void)[] = []

  constructor(max: number) {
    this.#free = max
  }

  async take<T>(use: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#queue.push(resolve))
    try {
      return await use()
    } finally {
      const next = this.#queue.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}
