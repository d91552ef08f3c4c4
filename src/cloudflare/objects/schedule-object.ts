import { decodeValue } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import type { EngineCore } from "../../engine/engine-core.ts"
import type { ScheduleCalls } from "../../client-api/schedule-calls.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import { scheduleNotFound, ScheduleWriter } from "../../engine/schedules/schedule-writer.ts"
import { ScheduledStarts } from "../../engine/schedules/scheduled-starts.ts"
import { Scheduler } from "../../engine/schedules/scheduler.ts"
import { StoredSchedules } from "../../engine/schedules/stored-schedules.ts"
import type { Logger } from "../../ports/host.ts"
import type { ObjectSchedule } from "../../ports/cloudflare/object-schedule.ts"
import type { StoreProvider } from "../../ports/store.ts"
import type { EngineSpec } from "../../engine/engine-components.ts"
import { lookAgainAt, setAlarm } from "./alarm-time.ts"
import type { BackgroundSender } from "./instance-object.ts"
import { openObjectCore } from "./object-engine.ts"
import { ObjectHost } from "./object-host.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** A schedule that waits for an instance is notified when that ends. If the notification is lost, the schedule checks after this time. */
const awaitMs = 60_000
/** The delay after an alarm that failed. */
const retryMs = 1_000

/** The RPC methods of a schedule's object, by the names of the calls on a schedule. */
const methods = ["create", "describe", "update", "pause", "resume", "trigger", "backfill", "delete"] as const satisfies readonly (keyof ScheduleCalls)[]

export type ScheduleMethod = (typeof methods)[number]

export interface ScheduleObjectOptions {
  readonly storage: ObjectStorage
  readonly tables: ObjectSchedule
  readonly orders: BackgroundSender & { settled(): Promise<void> }
  readonly workflows: EngineSpec["workflows"]
  readonly options: EngineOptions
  readonly log: Logger
  readonly now: () => number
  openStore(afterWrite: () => void): StoreProvider
}

/** An engine that fires a schedule: its core, the scheduler, and the schedule client that RPC methods call. */
interface ScheduleEngine {
  readonly core: EngineCore
  readonly scheduler: Scheduler
  readonly schedules: ScheduleCalls
}

/** One schedule in one Durable Object, with an engine that has no instance. The object's alarm fires the schedule. */
export class ScheduleObject {
  readonly #options: ScheduleObjectOptions
  readonly #host: ObjectHost
  #opening: Promise<ScheduleEngine> | undefined
  #callsUnderWay = 0

  constructor(options: ScheduleObjectOptions) {
    this.#options = options
    this.#host = new ObjectHost(options.storage, options.log, options.now)
  }

  async call(id: string, method: string, args: string): Promise<unknown> {
    this.#callsUnderWay++
    try {
      if (!methods.includes(method as ScheduleMethod))
        throw new PerdureError("UNKNOWN_ROUTE", `the object of a schedule has no method ${JSON.stringify(method)}`)
      const { tables } = this.#options
      if (method === "create") tables.prepare()
      if (!tables.isThere()) throw scheduleNotFound(id)
      const { schedules } = await this.#open()
      const call = schedules[method as ScheduleMethod] as (id: string, ...args: readonly unknown[]) => Promise<unknown>
      const value = await call.call(schedules, id, ...(decodeValue(args) as readonly unknown[]))
      // A caller that gets the id of an instance must find that instance.
      await this.#options.orders.settled()
      return value
    } finally {
      this.#callsUnderWay--
      await this.#deleteIfEmpty()
    }
  }

  /** An instance of the schedule may have ended. */
  async hint(): Promise<void> {
    if (this.#options.tables.isThere() && this.#options.tables.row()) await this.#fire()
  }

  /** Never throws: the platform gives up an alarm that has failed a few times. */
  async alarm(): Promise<void> {
    try {
      if (!this.#options.tables.isThere()) return
      await this.#fire()
      this.#options.orders.send(() => this.#onSent(), true)
      await this.#deleteIfEmpty()
      this.#updateAlarm()
    } catch (error) {
      this.#host.log.error("the alarm of a schedule failed; it is set again", { error })
      await this.#options.storage.setAlarm(this.#options.now() + retryMs)
    }
  }

  async #fire(): Promise<void> {
    const { scheduler } = await this.#open()
    scheduler.wake()
    await scheduler.settled()
    this.#updateAlarm()
  }

  #open(): Promise<ScheduleEngine> {
    this.#opening ??= this.#openEngine().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #openEngine(): Promise<ScheduleEngine> {
    const { workflows, options } = this.#options
    const store = this.#options.openStore(() => this.#afterWrite())
    const core = await openObjectCore({ host: this.#host, store, workflows, options })
    const { host, registry, worker, starter } = core.components
    const scheduleWriter = new ScheduleWriter(core.components.store, new ScheduledStarts(starter, registry, worker), worker)
    const scheduler = core.attach(new Scheduler(core.components.store, host, worker.timers, registry, scheduleWriter))
    const schedules = new StoredSchedules({ ...core.components, scheduleWriter, scheduler })
    await core.begin()
    return { core, scheduler, schedules }
  }

  #afterWrite(): void {
    this.#options.orders.send(() => this.#onSent())
    this.#updateAlarm()
  }

  #onSent(): void {
    this.#updateAlarm()
    void this.#deleteIfEmpty().catch((error: unknown) => this.#host.log.error("an object could not be emptied", { error }))
  }

  #updateAlarm(): void {
    const { storage, tables, orders, now } = this.#options
    if (!tables.isThere()) return
    const row = tables.row()
    const dueAt = row?.dueAt === undefined ? undefined : row.dueAt > now() ? row.dueAt : lookAgainAt(row.dueAt, now())
    const times = [dueAt, orders.retryAt, row?.awaits === undefined ? undefined : now() + awaitMs]
    const at = Math.min(...times.map((time) => time ?? Infinity))
    if (at === Infinity) void storage.deleteAlarm()
    else setAlarm(storage, at, now(), this.#host.log)
  }

  /** Deletes the storage of an object that has no schedule and nothing to send. */
  async #deleteIfEmpty(): Promise<void> {
    const { tables, storage } = this.#options
    if (this.#callsUnderWay > 0 || !tables.isThere() || tables.row() || tables.orders(1).length > 0 || tables.indexed().removed) return
    const opening = this.#opening
    this.#opening = undefined
    tables.forget()
    const emptied = Promise.all([storage.deleteAll(), storage.deleteAlarm()])
    const engine = await opening
    engine?.core.kill()
    await engine?.core.components.store.close()
    await emptied
  }
}
