/** Calls one after another: each begins when the one before is over, however that ended. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  do<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Resolves when all that was asked for so far is over. */
  async whenOver(): Promise<void> {
    await this.#last
  }
}
