import { macrotask } from "../hosts/simulated/simulated-host.ts"

/** So many macrotasks in a row nothing must have moved: whoever awaits a result may do something else at the same time. */
const quietMacrotasks = 20
/** After so many it looks less often while something moves: a step, or a store, may be waiting for something real. */
const hurriedMacrotasks = 50
const unhurriedMs = 5

/**
 * Results that a test awaits from an engine with virtual time. Where nothing moves any more, a result would never come: time stands still
 * until the test moves it, and the test stands still until the result comes. Such a result is rejected, with what the test can do. It is so
 * only for one that somebody awaits, and only while the test does nothing else with the engine.
 */
export class AwaitedResults {
  /** Nothing moves without time passing or somebody doing something. */
  readonly #isQuiet: () => boolean
  /** The error for an instance; undefined: it is over, or not for us to say. */
  readonly #problem: (id: string) => Promise<Error | undefined>
  readonly #awaited = new Set<Waiting>()
  #calls = 0
  #isLooking = false

  constructor(isQuiet: () => boolean, problem: (id: string) => Promise<Error | undefined>) {
    this.#isQuiet = isQuiet
    this.#problem = problem
  }

  /** A call that the test makes meanwhile: it may be what the result waits for. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#calls++
    try {
      return await call()
    } finally {
      this.#calls--
    }
  }

  /** The same result, which is rejected where it can never come. */
  watch(id: string, result: Promise<unknown>): Promise<unknown> {
    return new ResultPromise((resolve, reject) => {
      const waiting: Waiting = { id, reject }
      const forget = () => this.#awaited.delete(waiting)
      result.then(
        (value) => {
          forget()
          resolve(value)
        },
        (error: unknown) => {
          forget()
          reject(error)
        },
      )
      return () => {
        this.#awaited.add(waiting)
        void this.#look()
      }
    })
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    for (let quiet = 0, looks = 0; this.#awaited.size > 0; looks++) {
      await new Promise<void>((resolve) => (quiet > 0 || looks < hurriedMacrotasks ? macrotask(resolve) : setTimeout(resolve, unhurriedMs)))
      quiet = this.#calls === 0 && this.#isQuiet() ? quiet + 1 : 0
      if (quiet < quietMacrotasks) continue
      quiet = 0
      for (const waiting of [...this.#awaited]) await this.#give(waiting)
    }
    this.#isLooking = false
  }

  async #give(waiting: Waiting): Promise<void> {
    const problem = await this.#problem(waiting.id).catch((error: unknown) => error)
    if (problem !== undefined && this.#calls === 0 && this.#awaited.delete(waiting)) waiting.reject(problem)
  }
}

interface Waiting {
  readonly id: string
  readonly reject: (error: unknown) => void
}

type Executor<T> = (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void

/** A promise that knows when somebody begins to await it. */
class ResultPromise<T> extends Promise<T> {
  #onAwaited: () => void = () => undefined

  /** The promises that are made of it are ordinary ones. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  constructor(executor: Executor<T>) {
    let onAwaited: () => void = () => undefined
    super((resolve, reject) => {
      onAwaited = executor(resolve, reject)
    })
    this.#onAwaited = onAwaited
  }

  /** `await` calls it as well, as the class is not Promise itself. */
  // oxlint-disable-next-line unicorn/no-thenable
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#onAwaited()
    return super.then(onFulfilled, onRejected)
  }
}
