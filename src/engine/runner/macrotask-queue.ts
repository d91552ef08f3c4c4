import type { Host } from "../../ports/host.ts"

/** Runs again after a macrotask: the runner of an instance. */
export interface Runnable {
  /** Set by the queue. */
  isQueued: boolean
  pump(): void
}

/** How many run in one macrotask. The others run in the next ones. */
const runMax = 512

/**
 * Runs all resident instances of a worker. Between two releases to workflow code a macrotask must pass, so that everything the code does in response to
 * one entry is done before the code sees the next. One macrotask serves all queued instances. After the run, `afterRun` commits the turns of all of them
 * as one batch.
 */
export class MacrotaskQueue {
  readonly #host: Host
  readonly #afterRun: () => void
  #queue: Runnable[] = []
  #isScheduled = false
  /** Called after every run. */
  onDrained: () => void = () => undefined

  constructor(host: Host, afterRun: () => void) {
    this.#host = host
    this.#afterRun = afterRun
  }

  /** No run is scheduled. */
  get idle(): boolean {
    return !this.#isScheduled
  }

  /** How many instances are queued. */
  get size(): number {
    return this.#queue.length
  }

  enqueue(runnable: Runnable): void {
    if (runnable.isQueued) return
    runnable.isQueued = true
    this.#queue.push(runnable)
    this.schedule()
  }

  /** Schedules a run also if no instance is queued: turns may wait to be committed. */
  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#host.quiesce(this.#run, true)
  }

  readonly #run = (): void => {
    this.#isScheduled = false
    const all = this.#queue
    const line = all.length > runMax ? all.slice(0, runMax) : all
    this.#queue = all.slice(runMax)
    if (this.#queue.length > 0) this.schedule()
    for (const member of line) {
      member.isQueued = false
      try {
        member.pump()
      } catch (error) {
        this.#host.log.error("an instance failed to continue; the others are not affected", { error })
      }
    }
    this.#afterRun()
    this.onDrained()
  }
}
