import { macrotask } from "../hosts/simulated/simulated-host.ts"

/** How many macrotasks in a row the engine must be at rest before a result counts as unreachable: a test may await a result and do something else at the same time. */
const quietMacrotasks = 20
/** After this many macrotasks the check runs less often: a step or a store may be waiting for something in real time. */
const hurriedMacrotasks = 50
const unhurriedMs = 5

/**
 * Results that a test awaits from an engine with virtual time. Time stands still until the test moves it, and the test stands still until the
 * result comes: a result that depends on time would never come. Such a result is rejected, and the error says what the test can do. A result is
 * rejected only if the test awaits it, and only while the test makes no other call to the engine.
 */
export class AwaitedResults {
  /** The engine is at rest: only time or an outside call can change something. */
  readonly #isQuiet: () => boolean
  /** The error for an instance that is not over; undefined if the instance is over. */
  readonly #problem: (id: string) => Promise<Error | undefined>
  readonly #awaited = new Set<Waiting>()
  #calls = 0
  #isLooking = false

  constructor(isQuiet: () => boolean, problem: (id: string) => Promise<Error | undefined>) {
    this.#isQuiet = isQuiet
    this.#problem = problem
  }

  /** Runs a call of the test. No result is rejected meanwhile, because the call may be what the result waits for. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#calls++
    try {
      return await call()
    } finally {
      this.#calls--
    }
  }

  /** Wraps a result: the wrapped promise is rejected if the result can never come. */
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

/** A promise that notices when the test begins to await it. */
class ResultPromise<T> extends Promise<T> {
  #onAwaited: () => void = () => undefined

  /** `then` returns an ordinary promise. */
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

  /** `await` calls this method too, because the class is not Promise itself. */
  // oxlint-disable-next-line unicorn/no-thenable
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#onAwaited()
    return super.then(onFulfilled, onRejected)
  }
}
