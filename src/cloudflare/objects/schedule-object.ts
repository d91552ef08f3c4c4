import { decodeValue } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import type { EngineCore } from "../../engine/engine-core.ts"
import type { BackfillOptions, ScheduleOptions, ScheduleUpdate } from "../../client-api/schedule-client.ts"
import type { EngineOptions } from "../../engine/settings.ts"
import { scheduleNotFound, ScheduleWriter } from "../../engine/schedules/schedule-writer.ts"
import { ScheduledStarts } from "../../engine/schedules/scheduled-starts.ts"
import { Scheduler } from "../../engine/schedules/scheduler.ts"
import { Schedules } from "../../engine/schedules/schedules.ts"
import type { Handle } from "../../client-api/client-api.ts"
import type { Logger } from "../../ports/host.ts"
import type { ObjectSchedule } from "../../ports/cloudflare/object-schedule.ts"
import type { StoreProvider } from "../../ports/store.ts"
import type { EngineSpec } from "../../engine/engine-components.ts"
import { lookAgainAt, setAlarm } from "./alarm-time.ts"
import type { BackgroundSender } from "./instance-object.ts"
import { openObjectCore } from "./object-engine.ts"
import { ObjectHost } from "./object-host.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** What waits for an instance is told when that ends. Should it be lost, it looks by itself. */
const awaitMs = 60_000
/** After an alarm that failed. */
const retryMs = 1_000

const answers = {
  create: async (schedules: Schedules, id: string, options: ScheduleOptions<unknown> & { readonly workflow: string }) =>
    (await schedules.create(id, options)).id,
  describe: (schedules: Schedules, id: string) => schedules.get(id).describe(),
  update: (schedules: Schedules, id: string, changes: ScheduleUpdate) => schedules.get(id).update(changes),
  pause: (schedules: Schedules, id: string, reason?: string) => schedules.get(id).pause(reason),
  resume: (schedules: Schedules, id: string) => schedules.get(id).resume(),
  trigger: async (schedules: Schedules, id: string, options?: { readonly input?: unknown }) => (await schedules.get(id).trigger(options)).id,
  backfill: (schedules: Schedules, id: string, options: BackfillOptions) => schedules.get(id).backfill(options),
  delete: (schedules: Schedules, id: string) => schedules.get(id).delete(),
} as const

export type ScheduleMethod = keyof typeof answers

export interface ScheduleSpec {
  readonly storage: ObjectStorage
  readonly tables: ObjectSchedule
  readonly orders: BackgroundSender & { settled(): Promise<void> }
  readonly workflows: EngineSpec["workflows"]
  readonly options: EngineOptions
  readonly log: Logger
  readonly now: () => number
  openStore(onWritten: () => void): StoreProvider
}

/** An engine that fires: its core, the scheduler, and what callers may do to the schedule. */
interface ScheduleEngine {
  readonly core: EngineCore
  readonly scheduler: Scheduler
  readonly schedules: Schedules
}

/** One schedule in one Durable Object: an engine that has no instance, and fires by the object's alarm. */
export class ScheduleObject {
  readonly #spec: ScheduleSpec
  readonly #host: ObjectHost
  #opening: Promise<ScheduleEngine> | undefined
  #calls = 0

  constructor(spec: ScheduleSpec) {
    this.#spec = spec
    this.#host = new ObjectHost(spec.storage, spec.log, spec.now)
  }

  async call(id: string, method: string, args: string): Promise<unknown> {
    this.#calls++
    try {
      const answer = Object.hasOwn(answers, method)
        ? (answers[method as ScheduleMethod] as (schedules: Schedules, id: string, ...args: unknown[]) => unknown)
        : undefined
      if (answer === undefined) throw new PerdureError("UNKNOWN_ROUTE", `a schedule's object has no method ${JSON.stringify(method)}`)
      const { tables } = this.#spec
      if (method === "create") tables.prepare()
      if (!tables.isThere()) throw scheduleNotFound(id)
      const value = await answer((await this.#open()).schedules, id, ...(decodeValue(args) as readonly unknown[]))
      // Whoever is told of an instance finds it.
      await this.#spec.orders.settled()
      return value
    } finally {
      this.#calls--
      await this.#leaveIfEmpty()
    }
  }

  /** An instance of the schedule is over. */
  async hint(): Promise<void> {
    if (this.#spec.tables.isThere() && this.#spec.tables.row()) await this.#fire()
  }

  /** Never throws: an alarm that fails a few times is not set again. */
  async alarm(): Promise<void> {
    try {
      if (!this.#spec.tables.isThere()) return
      await this.#fire()
      this.#spec.orders.send(() => this.#onSent(), true)
      await this.#leaveIfEmpty()
      this.#rearm()
    } catch (error) {
      this.#host.log.error("the alarm of a schedule failed; it is set again", { error })
      await this.#spec.storage.setAlarm(this.#spec.now() + retryMs)
    }
  }

  async #fire(): Promise<void> {
    const { scheduler } = await this.#open()
    scheduler.wake()
    await scheduler.settled()
    this.#rearm()
  }

  #open(): Promise<ScheduleEngine> {
    this.#opening ??= this.#openEngine().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #openEngine(): Promise<ScheduleEngine> {
    const { workflows, options } = this.#spec
    const store = this.#spec.openStore(() => this.#afterWrite())
    const core = await openObjectCore({ host: this.#host, store, workflows, options })
    const { host, registry, worker, starter } = core.parts
    const scheduleWriter = new ScheduleWriter(core.parts.store, new ScheduledStarts(starter, registry, worker), worker)
    const scheduler = core.attach(new Scheduler(core.parts.store, host, worker.timers, registry, scheduleWriter))
    const parts = { ...core.parts, scheduleWriter, scheduler }
    // Callers are told ids, and have handles of their own.
    const schedules = new Schedules(
      () => ({ parts }),
      (id) => ({ id }) as Handle,
    )
    await core.begin()
    return { core, scheduler, schedules }
  }

  #afterWrite(): void {
    this.#spec.orders.send(() => this.#onSent())
    this.#rearm()
  }

  #onSent(): void {
    this.#rearm()
    void this.#leaveIfEmpty().catch((error: unknown) => this.#host.log.error("an object could not be emptied", { error }))
  }

  #rearm(): void {
    const { storage, tables, orders, now } = this.#spec
    if (!tables.isThere()) return
    const row = tables.row()
    const dueAt = row?.dueAt === undefined ? undefined : row.dueAt > now() ? row.dueAt : lookAgainAt(row.dueAt, now())
    const times = [dueAt, orders.retryAt, row?.awaits === undefined ? undefined : now() + awaitMs]
    const at = Math.min(...times.map((time) => time ?? Infinity))
    if (at === Infinity) void storage.deleteAlarm()
    else setAlarm(storage, at, now(), this.#host.log)
  }

  /** An object without a schedule, that has nothing to tell anybody, takes no room. */
  async #leaveIfEmpty(): Promise<void> {
    const { tables, storage } = this.#spec
    if (this.#calls > 0 || !tables.isThere() || tables.row() || tables.orders(1).length > 0 || tables.indexed().removed) return
    const opening = this.#opening
    this.#opening = undefined
    tables.forget()
    const emptied = Promise.all([storage.deleteAll(), storage.deleteAlarm()])
    const engine = await opening
    engine?.core.kill()
    await engine?.core.parts.store.close()
    await emptied
  }
}
