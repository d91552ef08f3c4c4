import type { Logger } from "../../ports/host.ts"

const retryMsMax = 60_000
/** If the object is evicted while the task runs, the alarm restarts the task after this time. */
const backupMs = 10_000

export interface RetryingTaskOptions {
  readonly now: () => number
  readonly log: Logger
  /** The delay after the first failure. Each further failure doubles it, up to `retryMsMax`. */
  readonly retryMs: number
  /** The message that is logged when the task fails. */
  readonly failure: string
}

/**
 * A background task of an object that calls other objects and is retried until it succeeds. One run is active at a time.
 * The owner calls `tryStart`, and then either `begin` or `idleUntil`.
 *
 *            begin                       resolved
 *   idle ──────────────► running ─────────────────────────► idle  (started again at once if `isRequested`)
 *     ▲                   ▲    │ rejected
 *     │ resolved          │    ▼
 *     └───────────────────┴─ failed   (`tryStart` answers true only to the alarm, at `retryAt`)
 */
export class RetryingTask {
  readonly #options: RetryingTaskOptions
  #isRunning = false
  /** The task was requested again while it was running. The running task may reset this when it reads its work anew. */
  isRequested = false
  #failures = 0
  /** When the object's alarm has to call the task. Undefined: nothing is left to do. */
  retryAt: number | undefined
  /** Resolves when the current run has succeeded or failed. */
  settled: Promise<void> = Promise.resolve()

  constructor(options: RetryingTaskOptions) {
    this.#options = options
  }

  /** Whether a run may start. False: a run is active and will look once more, or the task has failed and waits for its retry. */
  tryStart(isRetry = false): boolean {
    if (!this.#isRunning) return isRetry || this.#failures === 0
    this.isRequested = true
    // The backup alarm has fired, so the task needs a new one.
    if (isRetry) this.retryAt = this.#backupAt
    return false
  }

  /** Nothing is to be done before `at`, or until the next request. */
  idleUntil(at?: number): void {
    this.#failures = 0
    this.retryAt = at
  }

  /** Makes the alarm start the task if the object is evicted before the owner does. */
  armBackup(): void {
    this.retryAt ??= this.#backupAt
  }

  /**
   * Starts a run. `run` does all pending work and returns the time of the next run, if it needs one. `again` is called if the task was requested
   * meanwhile. `onDone` is called after success and after failure; if it throws, the backup alarm calls the task again.
   */
  begin(run: () => Promise<number | undefined>, again: () => void, onDone: () => void): void {
    this.#isRunning = true
    this.isRequested = false
    this.retryAt = this.#backupAt
    this.settled = this.#try(run)
      .then(() => {
        this.#isRunning = false
        if (this.isRequested && this.#failures === 0) again()
        onDone()
      })
      .catch((error: unknown) => {
        this.armBackup()
        this.#options.log.error("a follow-up failed", { error })
      })
  }

  get #backupAt(): number {
    return this.#options.now() + backupMs
  }

  async #try(run: () => Promise<number | undefined>): Promise<void> {
    const { now, log, retryMs, failure } = this.#options
    try {
      this.idleUntil(await run())
    } catch (error) {
      const inMs = Math.min(retryMs * 2 ** Math.min(this.#failures++, 20), retryMsMax)
      this.retryAt = now() + inMs
      log.warn(`${failure}; trying again`, { error, inMs })
    }
  }
}
