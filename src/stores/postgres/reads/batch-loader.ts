import { isUnreachable } from "../connection/postgres-failure.ts"

/** Reads for many askers at once: what is asked for at the same moment goes together, up to so many in one round trip. */
export class BatchLoader<Asked, Answer> {
  readonly #most: number
  readonly #readAll: (asked: readonly Asked[]) => Promise<readonly Answer[]>
  #waiting: Waiting<Asked, Answer>[] = []

  /** `readAll` answers at the same places. */
  constructor(most: number, readAll: (asked: readonly Asked[]) => Promise<readonly Answer[]>) {
    this.#most = most
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
    for (let from = 0; from < all.length; from += this.#most) void this.#sendSome(all.slice(from, from + this.#most))
  }

  async #sendSome(waiting: readonly Waiting<Asked, Answer>[]): Promise<void> {
    try {
      const answers = await this.#readAll(waiting.map(({ asked }) => asked))
      waiting.forEach(({ resolve }, at) => resolve(answers[at] as Answer))
    } catch (error) {
      if (waiting.length === 1 || isUnreachable(error)) for (const { reject } of waiting) reject(error)
      // One that cannot be read must not keep the others from theirs.
      else for (const one of waiting) await this.#sendSome([one])
    }
  }
}

interface Waiting<Asked, Answer> {
  readonly asked: Asked
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}
