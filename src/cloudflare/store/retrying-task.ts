import type { Logger } from "../../ports/host.ts"

const retryMsMax = 60_000
/** An object that goes while it is at it is woken after so long. */
const netMs = 10_000

export interface RetryingTaskOptions {
  readonly now: () => number
  readonly log: Logger
  /** How long after the first failure it is tried again; after each further one twice as long. */
  readonly retryMs: number
  /** What is logged where it fails. */
  readonly failure: string
}

/**
 * What an object has to do elsewhere until it is done, one call at a time. Whoever has something to be done asks whether it may begin; who comes
 * while it is under way is heard when it has ended, whenever that is. What fails is tried again by the object's alarm.
 */
export class RetryingTask {
  readonly #spec: RetryingTaskOptions
  #isUnderWay = false
  /** Somebody came since it began, or since whoever does it has put this back. */
  isCalledFor = false
  #failures = 0
  /** When the object has to be awake for it; undefined: all is done. */
  retryAt: number | undefined
  /** Resolves when what is under way has ended, or has to be tried again. */
  last: Promise<void> = Promise.resolve()

  constructor(spec: RetryingTaskOptions) {
    this.#spec = spec
  }

  /** False: not now. Either it is under way, and looks once more when it has ended, or it has failed, and its time has not come. */
  tryStart(isRetry = false): boolean {
    if (!this.#isUnderWay) return isRetry || this.#failures === 0
    this.isCalledFor = true
    // The alarm that stood by has gone off.
    if (isRetry) this.retryAt = this.#net
    return false
  }

  /** Nothing is to be done, at least until then. */
  idleUntil(at?: number): void {
    this.#failures = 0
    this.retryAt = at
  }

  /** Something is to be done soon: should the object go before, it is woken. */
  armBackup(): void {
    this.retryAt ??= this.#net
  }

  /**
   * `run` does all that there is to do, and gives the time until which it may rest. `again`: somebody came meanwhile. `onDone`: it has ended, or is
   * to be tried again later; where that fails, the alarm that stands by since it began makes up for it.
   */
  begin(run: () => Promise<number | undefined>, again: () => void, onDone: () => void): void {
    this.#isUnderWay = true
    this.isCalledFor = false
    this.retryAt = this.#net
    this.last = this.#try(run)
      .then(() => {
        this.#isUnderWay = false
        if (this.isCalledFor && this.#failures === 0) again()
        onDone()
      })
      .catch((error: unknown) => {
        this.armBackup()
        this.#spec.log.error("a follow-up failed", { error })
      })
  }

  get #net(): number {
    return this.#spec.now() + netMs
  }

  async #try(run: () => Promise<number | undefined>): Promise<void> {
    const { now, log, retryMs, failure } = this.#spec
    try {
      this.idleUntil(await run())
    } catch (error) {
      const inMs = Math.min(retryMs * 2 ** Math.min(this.#failures++, 20), retryMsMax)
      this.retryAt = now() + inMs
      log.warn(`${failure}; trying again`, { error, inMs })
    }
  }
}
