import type { NewTask, TaskStore } from "../../ports/task-store.ts"
import type { EngineListener } from "../engine-listener.ts"
import { MovableTimer } from "../worker/timers.ts"
import type { Worker } from "../worker/worker.ts"

const expireMax = 500
/** Two looks are at least this far apart. */
const pauseMs = 50
const storeRetryMs = 1_000

/**
 * Ends the tasks whose time is over: their instances learn why, and decide what follows. Every engine that writes tasks looks after them, at the earliest
 * time at which one of its tasks may have to end, then when the store says that the next one does. A slow sweep covers the tasks of engines that are gone.
 */
export class TaskExpiry implements EngineListener {
  readonly #tasks: TaskStore
  readonly #worker: Worker
  readonly #sweep: MovableTimer
  readonly #next: MovableTimer
  /** When the next look is due; Infinity: at the next sweep. */
  #nextAt = Infinity
  #lookedAt = -Infinity
  #looking: Promise<void> | undefined
  #looksAgain = false
  #isStopped = false

  constructor(tasks: TaskStore, worker: Worker) {
    this.#tasks = tasks
    this.#worker = worker
    this.#sweep = new MovableTimer(worker.timers, () => this.#onSweep())
    this.#next = new MovableTimer(worker.timers, () => this.look())
  }

  start(): void {
    this.#onSweep()
  }

  /** Tasks of this process are durable. */
  onTasksWritten(tasks: readonly NewTask[]): void {
    const now = this.#worker.host.now()
    for (const { startBy, closeBy, timeoutMs, heartbeatMs } of tasks) {
      const soonestMs = Math.min(timeoutMs ?? Infinity, heartbeatMs ?? Infinity, this.#worker.settings.leaseMs)
      this.#lookAt(Math.min(startBy ?? Infinity, closeBy ?? Infinity, now + soonestMs))
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#sweep.clear()
    this.#next.clear()
    await this.#looking
  }

  look(): void {
    if (this.#isStopped) return
    this.#looksAgain = true
    this.#looking ??= this.#lookAll()
  }

  /** One look at a time. A time that comes during a look causes another one. */
  async #lookAll(): Promise<void> {
    while (this.#looksAgain && !this.#isStopped) {
      this.#looksAgain = false
      await this.#look()
    }
    // In the same moment as the last check, so that no call is forgotten.
    this.#looking = undefined
  }

  #onSweep(): void {
    if (this.#isStopped) return
    this.look()
    this.#sweep.setAfter(2 * this.#worker.settings.sweepMs)
  }

  #lookAt(at: number): void {
    if (at >= this.#nextAt || this.#isStopped) return
    this.#nextAt = at
    this.#next.setTo(Math.max(at, this.#lookedAt + pauseMs))
  }

  async #look(): Promise<void> {
    this.#nextAt = Infinity
    this.#next.clear()
    const { host } = this.#worker
    this.#lookedAt = host.now()
    try {
      const { instances, nextAt } = await this.#tasks.expire(expireMax)
      if (instances.length > 0) this.#worker.hint([...new Set(instances)])
      if (nextAt !== undefined) this.#lookAt(nextAt)
    } catch (error) {
      if (this.#isStopped) return
      host.log.error("tasks whose time is over could not be ended; trying again", { error })
      this.#lookAt(host.now() + storeRetryMs)
    }
  }
}
