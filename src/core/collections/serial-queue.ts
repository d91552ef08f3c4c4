/** Runs calls one after another. Each starts when the call before it has resolved or rejected. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  do<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Resolves when all calls so far have ended. */
  async whenOver(): Promise<void> {
    await this.#last
  }
}
