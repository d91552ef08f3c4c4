import { isUnreachable } from "../connection/postgres-failure.ts"

/** Reads for many callers at once: calls of the same moment share a round trip, up to a number of calls. */
export class BatchLoader<Asked, Answer> {
  readonly #batchMax: number
  readonly #readAll: (asked: readonly Asked[]) => Promise<readonly Answer[]>
  #waiting: Waiting<Asked, Answer>[] = []

  /** `readAll` returns the answers in the order of its arguments. */
  constructor(batchMax: number, readAll: (asked: readonly Asked[]) => Promise<readonly Answer[]>) {
    this.#batchMax = batchMax
    this.#readAll = readAll
  }

  read(asked: Asked): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject })
      if (this.#waiting.length === 1) void Promise.resolve().then(() => this.#send())
    })
  }

  #send(): void {
    const all = this.#waiting
    this.#waiting = []
    for (let from = 0; from < all.length; from += this.#batchMax) void this.#sendSome(all.slice(from, from + this.#batchMax))
  }

  async #sendSome(waiting: readonly Waiting<Asked, Answer>[]): Promise<void> {
    try {
      const answers = await this.#readAll(waiting.map(({ asked }) => asked))
      waiting.forEach(({ resolve }, at) => resolve(answers[at] as Answer))
    } catch (error) {
      if (waiting.length === 1 || isUnreachable(error)) for (const { reject } of waiting) reject(error)
      // One item that cannot be read must not fail the other calls, so each is read alone.
      else for (const call of waiting) await this.#sendSome([call])
    }
  }
}

interface Waiting<Asked, Answer> {
  readonly asked: Asked
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}
