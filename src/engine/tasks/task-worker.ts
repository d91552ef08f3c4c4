import { PerdureError } from "../../core/errors.ts"
import type { Hint } from "../../ports/store.ts"
import type { ClaimedTask, TaskClaim, TaskEnding, TaskStore, TaskWorkerInfo } from "../../ports/task-store.ts"
import type { EngineListener } from "../engine-listener.ts"
import { randomToken } from "../random-token.ts"
import type { EngineSettings, QueueRate } from "../settings.ts"
import type { Worker } from "../worker/worker.ts"
import { MovableTimer, type TimerHandle } from "../worker/timers.ts"
import type { LocalActivities } from "./local-activities.ts"
import { TaskRun, type TaskRunOwner } from "./task-run.ts"

/** At most this many tasks are claimed by one call. */
const claimMax = 200
const storeRetryMs = 500
/** A queue with a rate is looked at this often at most. */
const ratePauseMs = 2_000
/** Heartbeats that come together are stored together, this long after the first one. */
const heartbeatMs = 100

/**
 * Claims tasks and runs them. Any engine that has activities does so, whether or not it executes workflows.
 *
 *   claim    after a hint, after tasks of this process, when there is room again while more may be waiting, and every sweep
 *   run      `TaskRun` calls the function of the activity
 *   keep     every third of the lease, and soon after heartbeats: renews all claims in one call. A claim that is gone aborts its run.
 *   announce every third of the lease: tells the other processes what this one claims
 *   finish   writes the endings that came together in one call, and tries again until the store has them or the claims are gone
 */
export class TaskWorker implements EngineListener, TaskRunOwner {
  readonly engine: object
  readonly #tasks: TaskStore
  readonly #worker: Worker
  readonly #settings: EngineSettings
  readonly #activities: LocalActivities
  readonly #runs = new Set<TaskRun>()
  /** Claimed, and waiting for room. Their claims are renewed like those of the others. */
  readonly #held: TaskRun[] = []
  /** Gives back the room of each run. */
  readonly #rooms = new WeakMap<TaskRun, () => void>()
  readonly #endings: { readonly ending: TaskEnding; readonly instance: string }[] = []
  readonly #sweep: MovableTimer
  /** Claims again after a failure, and when a period of a rate may be over. One timer: otherwise each hint would begin another series of claims. */
  readonly #claimLater: MovableTimer
  readonly #keep: MovableTimer
  readonly #announceAgain: MovableTimer
  #isStopped = false
  /** More tasks may be waiting than there was room for. */
  #mayBeMore = true
  readonly #idleWaiters: (() => void)[] = []
  #isKeepSoon = false
  #isKeeping = false
  #claims = 0
  #claiming: Promise<void> | undefined
  #claimsAgain = false
  #finishing: Promise<void> | undefined

  constructor(tasks: TaskStore, worker: Worker) {
    this.engine = worker
    this.#tasks = tasks
    this.#worker = worker
    this.#settings = worker.settings
    this.#activities = worker.activities
    this.#activities.onRoom = () => {
      this.#startHeld()
      if (this.#mayBeMore) this.requestClaim()
    }
    this.#sweep = new MovableTimer(worker.timers, () => this.#onSweep())
    this.#claimLater = new MovableTimer(worker.timers, () => this.requestClaim())
    this.#announceAgain = new MovableTimer(worker.timers, () => void this.#announce())
    this.#keep = new MovableTimer(worker.timers, () => void this.#keepAll())
  }

  get host() {
    return this.#worker.host
  }

  get timers() {
    return this.#worker.timers
  }

  get codecs() {
    return this.#settings.codecs
  }

  get payloadBytesMax(): number {
    return this.#settings.limits.payloadBytesMax
  }

  get isRunning(): boolean {
    return this.#runs.size > 0
  }

  /** No activity runs, and no claim and no write is under way. */
  get isIdle(): boolean {
    return !this.isRunning && this.#claiming === undefined && this.#finishing === undefined
  }

  /** Resolves when no activity runs. */
  whenIdle(): Promise<void> {
    return this.isRunning ? new Promise((resolve) => this.#idleWaiters.push(resolve)) : Promise.resolve()
  }

  /** Begins to claim. Resolves when the other processes know what this one claims. */
  async begin(): Promise<void> {
    await this.#announce()
    if (this.#isStopped) return
    this.#keepLater()
    this.#onSweep()
  }

  onHint({ tasks, work }: Hint): void {
    if (tasks ?? work === true) this.requestClaim()
  }

  requestClaim(): void {
    if (this.#isStopped) return
    this.#claimsAgain = true
    this.#claiming ??= this.#claimAll()
  }

  onHeartbeat(): void {
    if (this.#isKeepSoon) return
    this.#isKeepSoon = true
    this.#keep.setAfter(heartbeatMs)
  }

  onEnd(run: TaskRun, ending: TaskEnding): void {
    this.#remove(run)
    this.#finish(run, ending)
  }

  /** Lets the runs finish, for at most `drainMs`. Then other processes take them over. */
  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#beginNothing()
    await this.#claiming
    this.#handBack(this.#held.splice(0))
    await this.#atMostDrain(this.whenIdle())
    this.#keep.clear()
    this.#handBack([...this.#runs])
    // The store may not answer.
    await this.#atMostDrain(this.#finishing)
    await this.#tasks.announce(this.#announcement, 0).catch(() => undefined)
  }

  #handBack(runs: readonly TaskRun[]): void {
    const closing = new PerdureError("ENGINE_CLOSED", "the engine is closing")
    for (const run of runs) {
      this.#remove(run)
      const ending = run.handBack(closing)
      if (ending) this.#finish(run, ending)
    }
  }

  #beginNothing(): void {
    this.#isStopped = true
    for (const timer of [this.#sweep, this.#claimLater, this.#announceAgain]) timer.clear()
  }

  /** Resolves with the promise, or after `drainMs`. */
  async #atMostDrain(promise: Promise<void> | undefined): Promise<void> {
    let late: TimerHandle | undefined
    await Promise.race([promise, new Promise<void>((resolve) => (late = this.timers.after(this.#settings.drainMs, resolve)))])
    this.timers.clear(late)
  }

  /** The engine is closed, or its store is gone: what still runs is told to stop. */
  close(refusal: unknown): void {
    this.#beginNothing()
    this.#keep.clear()
    for (const run of this.#runs) run.lose(refusal)
    this.#runs.clear()
    this.#wakeIdleWaiters()
  }

  /** Drops everything without writing to the store, as the death of the process would. */
  kill(): void {
    this.close(new PerdureError("ENGINE_CLOSED", "the engine died"))
  }

  get #announcement(): TaskWorkerInfo {
    const { queues } = this.#settings
    return { worker: this.#worker.workerName, activities: this.#activities.names, ...(queues && { queues }) }
  }

  async #announce(): Promise<void> {
    this.#announceAgain.setAfter(this.#settings.leaseMs / 3)
    try {
      await this.#tasks.announce(this.#announcement, this.#settings.leaseMs)
    } catch (error) {
      this.host.log.error("the activities of this process could not be announced; trying again", { error })
    }
  }

  #onSweep(): void {
    if (this.#isStopped) return
    this.requestClaim()
    this.#sweep.setAfter(this.#settings.sweepMs)
  }

  async #claimAll(): Promise<void> {
    while (this.#claimsAgain && !this.#isStopped) {
      this.#claimsAgain = false
      try {
        for (const source of this.#sources()) await this.#claimFrom(source)
        this.#claimInNextPeriod()
      } catch (error) {
        if (this.#isStopped) break
        this.host.log.error("tasks could not be claimed; trying again", { error })
        this.#claimLater.setAfter(storeRetryMs)
      }
    }
    // In the microtask of the last look: a request between the two would be lost.
    this.#claiming = undefined
  }

  /** Where tasks come from: each queue with a rate by itself, and all others together. */
  #sources(): readonly Pick<TaskClaim, "queues" | "rate">[] {
    const { queues, queueRates } = this.#settings
    const rated = [...queueRates].map(([queue, rate]) => ({ queues: [queue], rate }))
    if (rated.length === 0) return [queues ? { queues } : {}]
    const others = queues?.filter((queue) => !queueRates.has(queue)) ?? []
    return others.length > 0 ? [...rated, { queues: others }] : rated
  }

  async #claimFrom(source: { readonly queues?: readonly string[]; readonly rate?: QueueRate }): Promise<void> {
    const limit = Math.min(this.#activities.room - this.#held.length, claimMax)
    if (limit <= 0) return void (this.#mayBeMore = true)
    const token = `${randomToken(this.host)}${++this.#claims}`
    const activities = this.#activities.names
    const { leaseMs } = this.#settings
    const claimed = await this.#tasks.claim({ worker: this.#worker.workerName, token, activities, limit, leaseMs, ...source })
    for (const task of claimed) this.#hold(task)
    this.#startHeld()
    // More may be waiting. If there is no room now, the end of a run claims again.
    this.#mayBeMore = claimed.length === limit
    if (this.#mayBeMore) this.#claimsAgain = true
  }

  /** Another process may have used a rate up, and nothing else tells when its period ends. */
  #claimInNextPeriod(): void {
    const periodsMs = Array.from(this.#settings.queueRates.values(), ({ perMs }) => perMs)
    if (periodsMs.length > 0 && !this.#isStopped) this.#claimLater.setAfter(Math.max(Math.min(...periodsMs), ratePauseMs))
  }

  #hold(task: ClaimedTask): void {
    const activity = this.#activities.find(task.activity)
    if (!activity) return
    const run = new TaskRun(this, task, activity)
    this.#runs.add(run)
    this.#held.push(run)
  }

  /** Starts what is claimed, as far as there is room: activities of this process' own workflows may have taken some while the store answered. */
  #startHeld(): void {
    while (!this.#isStopped && this.#activities.room > 0) {
      const run = this.#held.shift()
      if (!run) return
      // Its time may have passed, or its claim, while it waited.
      if (!this.#runs.has(run)) continue
      this.#rooms.set(run, this.#activities.take())
      run.start()
    }
  }

  #remove(run: TaskRun): void {
    if (!this.#runs.delete(run)) return
    this.#rooms.get(run)?.()
    if (this.#runs.size === 0) this.#wakeIdleWaiters()
  }

  #wakeIdleWaiters(): void {
    for (const wake of this.#idleWaiters.splice(0)) wake()
  }

  #keepLater(): void {
    if (!this.#isStopped || this.#runs.size > 0) this.#keep.setAfter(this.#settings.leaseMs / 3)
  }

  /** Renews all claims, and stores their heartbeats. One call at a time: a slow one must not overwrite what a later one has stored. */
  async #keepAll(): Promise<void> {
    if (this.#isKeeping) return this.#keep.setAfter(heartbeatMs)
    this.#isKeeping = true
    this.#isKeepSoon = false
    this.#keepLater()
    const runs = [...this.#runs]
    const kept = runs.map((run) => run.takeKept())
    try {
      const outcomes = kept.length === 0 ? [] : await this.#tasks.keep(kept, this.#settings.leaseMs)
      runs.forEach((run, at) => {
        if (outcomes[at] === "gone" && this.#runs.has(run)) this.#lose(run)
      })
    } catch (error) {
      for (const [at, run] of runs.entries()) if (kept[at]) run.putBack(kept[at])
      this.host.log.error("the claims of activities could not be renewed; trying again", { error })
      this.#keep.setAfter(storeRetryMs)
    } finally {
      this.#isKeeping = false
    }
  }

  #lose(run: TaskRun): void {
    const { activity, instance, id } = run.task
    this.#remove(run)
    run.lose(
      new PerdureError("STALE_TASK", `activity "${activity}" was cancelled, or another process has taken it over`, {
        details: { activity, instance, task: id },
      }),
    )
  }

  #finish({ instance }: TaskRun, ending: TaskEnding): void {
    this.#endings.push({ ending, instance })
    this.#finishing ??= this.#finishAll()
  }

  async #finishAll(): Promise<void> {
    // Endings of the same macrotask are written together.
    await new Promise<void>((resolve) => this.host.quiesce(resolve))
    while (this.#endings.length > 0) {
      const batch = this.#endings.splice(0, claimMax)
      try {
        await this.#tasks.finish(batch.map(({ ending }) => ending))
        this.#worker.hint([...new Set(batch.map(({ instance }) => instance))])
      } catch (error) {
        this.#endings.unshift(...batch)
        if (PerdureError.is(error, "ENGINE_CLOSED")) break
        this.host.log.error("the results of activities could not be written; trying again", { error })
        await new Promise<void>((resolve) => this.timers.after(storeRetryMs, resolve))
      }
    }
    // In the microtask of the last look: an ending between the two would not be written.
    this.#finishing = undefined
  }
}
