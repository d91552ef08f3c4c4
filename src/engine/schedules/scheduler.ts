import { decodeSchedule, instanceIdOf, isScheduledId, type Schedule } from "../../core/time/schedule.ts"
import { decide } from "../../core/time/schedule-decision.ts"
import { isTerminal } from "../../core/journal/status.ts"
import type { Host } from "../../ports/host.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import type { ScheduleRow } from "../../ports/schedule-store.ts"
import type { Hint, Store } from "../../ports/store.ts"
import type { EngineListener } from "../engine-listener.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import type { ScheduleWriter } from "./schedule-writer.ts"
import { MovableTimer, type Timers } from "../worker/timers.ts"
import { wallNow } from "../wall-clock.ts"

const checkMax = 100
const retryMs = 1_000
const retryMsMax = 60_000

/**
 * Fires the schedules of the workflows that this worker has. One timer is set for the earliest due time of all schedules. The scheduler also checks
 * when an instance of a schedule ends here, when another process may have changed something, and at each sweep. Several workers may check the same
 * schedule: a decision is lost if another one was written since the schedule was read.
 */
export class Scheduler implements EngineListener {
  readonly #store: Store
  readonly #host: Host
  readonly #workflows: readonly string[]
  readonly #writer: ScheduleWriter
  readonly #timer: MovableTimer
  /** The schedules that could not be fired, with the time of the next try by the monotonic clock. */
  readonly #failed = new Map<string, { readonly at: number; readonly delayMs: number }>()
  #running = false
  #isRequested = false
  #checking: Promise<void> | undefined

  constructor(store: Store, host: Host, timers: Timers, registry: WorkflowRegistry, writer: ScheduleWriter) {
    this.#store = store
    this.#host = host
    this.#workflows = registry.names
    this.#writer = writer
    this.#timer = new MovableTimer(timers, () => this.wake())
  }

  get idle(): boolean {
    return !this.#running || this.#checking === undefined
  }

  start(): void {
    this.#running = true
    this.wake()
  }

  /** Fires nothing more. A firing that is under way is finished. */
  async stop(): Promise<void> {
    this.#running = false
    this.#timer.clear()
    await this.#checking
  }

  /** Checks all schedules that may be due. */
  wake(): void {
    if (!this.#running || this.#workflows.length === 0) return
    this.#isRequested = true
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
      if (this.#isRequested) this.wake()
    })
  }

  /** A hint about work may mean a new schedule, or the end of an instance that a schedule waits for. */
  onHint({ work }: Hint): void {
    if (work === true) this.wake()
  }

  /** Resolves when each due schedule was fired, or has failed and waits for its next try. */
  async settled(): Promise<void> {
    while (this.#checking) await this.#checking
  }

  /** A schedule may wait for the end of this instance. */
  onInstanceEnded(id: string): void {
    if (isScheduledId(id)) this.wake()
  }

  async #check(): Promise<void> {
    try {
      while (this.#isRequested && this.#running) {
        this.#isRequested = false
        while (this.#running && (await this.#pass()));
      }
      if (!this.#running) return
      const now = this.#host.now()
      const next = await this.#store.schedules.nextDueAt(this.#workflows)
      // A schedule that failed stays due, so `nextDueAt` does not tell when the others are due.
      if (this.#failed.size > 0) this.#timer.setAfter(retryMs)
      else this.#timer.setTo(next === undefined ? undefined : this.#checkAt(next, now))
    } catch (error) {
      if (!this.#running) return
      this.#host.log.error("the store did not answer which schedules are due; trying again", { error })
      this.#timer.setAfter(retryMs)
    }
  }

  /** Schedules follow the wall clock. While the engine's time is ahead of it, the scheduler checks every second, because the clock may be set forward. */
  #checkAt(dueAt: number, now: number): number {
    const aheadMs = this.#host.aheadMs()
    if (aheadMs === 0 || dueAt > now) return Math.max(dueAt, now + 1)
    return Math.max(Math.min(dueAt + aheadMs, now + retryMs), now + 1)
  }

  /** Makes one decision for each schedule that needs one. Returns false if no schedule is left. */
  async #pass(): Promise<boolean> {
    const now = this.#host.now()
    const rows = await this.#store.schedules.due(this.#workflows, checkMax + this.#failed.size)
    for (const id of this.#failed.keys()) if (!rows.some((row) => row.id === id)) this.#failed.delete(id)
    const wallAt = wallNow(this.#host)
    // The store compares due times with the engine's time, which may be ahead of the wall clock.
    const isEarly = ({ dueAt }: ScheduleRow) => dueAt !== undefined && dueAt <= now && dueAt > wallAt
    const wanting = rows.filter((row) => (this.#failed.get(row.id)?.at ?? -Infinity) <= this.#host.monotonicMs() && !isEarly(row))
    for (const row of wanting) {
      if (!this.#running) return false
      await this.#try(row)
      // A store may answer at once: what else goes on in this process has its turn between any two.
      await new Promise<void>((resolve) => this.#host.quiesce(resolve))
    }
    return wanting.some(({ id }) => !this.#failed.has(id))
  }

  /** A schedule that cannot be fired does not hinder the others. */
  async #try(row: ScheduleRow): Promise<void> {
    try {
      await this.#advance(row)
      this.#failed.delete(row.id)
    } catch (error) {
      if (!this.#running) return
      const delayMs = Math.min((this.#failed.get(row.id)?.delayMs ?? retryMs / 2) * 2, retryMsMax)
      this.#failed.set(row.id, { at: this.#host.monotonicMs() + delayMs, delayMs })
      this.#host.log.error(`schedule "${row.id}" could not be fired; trying again`, { schedule: row.id, error })
    }
  }

  async #advance(row: ScheduleRow): Promise<void> {
    const schedule = decodeSchedule(row.state)
    const live = await this.#live(schedule)
    const taken = new Map<number, "exists" | "singleton">()
    for (;;) {
      const {
        start,
        cancels = [],
        ...decision
      } = decide(schedule, {
        id: row.id,
        now: wallNow(this.#host),
        dueAt: row.dueAt,
        live: live.map(({ id }) => id),
        taken,
      })
      const obstacle = start === undefined ? undefined : await this.#obstacle(row, schedule, start)
      if (start !== undefined && obstacle !== undefined) {
        taken.set(start, obstacle)
        continue
      }
      const cancellable = live.filter(({ id, status, phase }) => cancels.includes(id) && status !== "stalled" && phase !== "cancelling")
      await this.#writer.write(row, { ...decision, starts: start === undefined ? [] : [start], cancels: cancellable.map(({ id }) => id) })
      return
    }
  }

  async #obstacle(row: ScheduleRow, schedule: Schedule, at: number): Promise<"exists" | "singleton" | undefined> {
    if (await this.#store.directory.get(instanceIdOf(row.id, at))) return "exists"
    return (await this.#writer.singletonHolder(row, schedule)) === undefined ? undefined : "singleton"
  }

  /** The instances of the schedule that have not ended. The store is not asked if no decision depends on them. */
  async #live({ overlap, waiting, running }: Schedule): Promise<readonly InstanceRow[]> {
    if (overlap === "allow" && waiting.length === 0) return []
    const rows = await Promise.all(running.map((id) => this.#store.directory.get(id)))
    return rows.filter((row) => row !== undefined && !isTerminal(row.status)) as InstanceRow[]
  }
}
