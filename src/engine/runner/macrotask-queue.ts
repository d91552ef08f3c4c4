import type { Host } from "../../ports/host.ts"

/** Something that wants to go on when a macrotask has passed. */
export interface Runnable {
  /** Set by the queue: whether it is in line already. */
  isQueued: boolean
  pump(): void
}

/** So many go on in one macrotask; the others in the next ones. */
const runMax = 512

/**
 * The heartbeat that all resident instances share. Releasing an entry to workflow code needs a macrotask to pass before the
 * next; one macrotask serves everybody in line, and what they recorded meanwhile is committed together after it.
 */
export class MacrotaskQueue {
  readonly #host: Host
  readonly #afterRun: () => void
  #queue: Runnable[] = []
  #isScheduled = false
  /** Called at the end of every beat. */
  onDrained: () => void = () => undefined

  constructor(host: Host, afterRun: () => void) {
    this.#host = host
    this.#afterRun = afterRun
  }

  /** Nothing is in line and no beat is due. */
  get idle(): boolean {
    return !this.#isScheduled
  }

  /** How many are in line. */
  get size(): number {
    return this.#queue.length
  }

  enqueue(runnable: Runnable): void {
    if (runnable.isQueued) return
    runnable.isQueued = true
    this.#queue.push(runnable)
    this.schedule()
  }

  /** Asks for a beat even if nobody is in line: something waits to be committed. */
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
        this.#host.log.error("an instance failed to go on; the others do", { error })
      }
    }
    this.#afterRun()
    this.onDrained()
  }
}
