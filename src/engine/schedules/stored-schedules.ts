import { dueAfterChange, instanceIdOf, nextDue, type Schedule, withStarted } from "../../core/time/schedule.ts"
import { awaited } from "../../core/time/schedule-decision.ts"
import type { ScheduleCalls, ScheduleCreation } from "../../client-api/schedule-calls.ts"
import type {
  BackfilledFiring,
  BackfillOptions,
  ScheduleControlResult,
  ScheduleDescription,
  ScheduleFilter,
  SchedulePage,
  ScheduleUpdate,
} from "../../client-api/schedule-client.ts"
import type { SchedulingComponents } from "../engine-components.ts"
import { singletonExists } from "../flow-control/singletons.ts"
import { pageLimit } from "../instances/instance-summary.ts"
import { wallNow } from "../wall-clock.ts"
import { backfillSchedule } from "./schedule-backfill.ts"
import { declareSchedule } from "./schedule-declaration.ts"
import { changedDefinition } from "./schedule-options.ts"
import { describeSchedule, summaryOf } from "./schedule-summary.ts"
import { scheduleNotFound } from "./schedule-writer.ts"

/** The calls on the schedules of an engine. */
export class StoredSchedules implements ScheduleCalls {
  readonly #components: SchedulingComponents

  constructor(components: SchedulingComponents) {
    this.#components = components
  }

  async create(id: string, options: ScheduleCreation): Promise<void> {
    await declareSchedule(this.#components, id, options)
    this.#components.scheduler.wake()
  }

  async list({ workflow, cursor, limit }: ScheduleFilter): Promise<SchedulePage> {
    const page = await this.#components.store.schedules.list(workflow === undefined ? {} : { workflow }, {
      limit: pageLimit(limit),
      ...(cursor === undefined ? undefined : { after: cursor }),
    })
    return { schedules: page.items.map(summaryOf), ...(page.cursor === undefined ? undefined : { cursor: page.cursor }) }
  }

  async describe(id: string): Promise<ScheduleDescription> {
    const { store, host, registry, settings } = this.#components
    const row = await store.schedules.get(id)
    const input = await store.schedules.input(id)
    if (row === undefined || input === undefined) throw scheduleNotFound(id)
    return describeSchedule(row, input, (instance) => store.directory.get(instance), { now: host.now(), workflows: registry.names, codecs: settings.codecs })
  }

  async update(id: string, changes: ScheduleUpdate): Promise<void> {
    const { host, scheduler, scheduleWriter } = this.#components
    await scheduleWriter.change(id, async (before, row) => {
      const { version, paused, waiting, running, counts, log } = before
      const given = "input" in changes ? await scheduleWriter.starts.input(row.workflow, changes.input, version) : undefined
      const sensitive = given?.sensitive ?? before.sensitive
      const marks = { ...(version === undefined ? undefined : { version }), ...(sensitive ? { sensitive } : undefined) }
      const kept = { ...marks, ...(paused ? { paused } : undefined), waiting, running, counts, log }
      const schedule: Schedule = { ...changedDefinition(changes, before), ...kept }
      const dueAt = dueAfterChange(before, row.dueAt, schedule, wallNow(host))
      return { schedule, dueAt, awaits: awaited(id, schedule), ...(given ? { input: given.input } : undefined) }
    })
    scheduler.wake()
  }

  async pause(id: string, reason: string | undefined): Promise<ScheduleControlResult> {
    const { host, scheduleWriter } = this.#components
    const accepted = await scheduleWriter.change(id, (before) => {
      if (before.paused) return undefined
      const paused = { at: host.now(), ...(reason === undefined ? undefined : { reason }) }
      return { schedule: { ...before, paused }, dueAt: undefined, awaits: undefined }
    })
    return { id, accepted, ...(accepted ? undefined : { reason: "it is paused already" }) }
  }

  async resume(id: string): Promise<ScheduleControlResult> {
    const { host, scheduler, scheduleWriter } = this.#components
    const accepted = await scheduleWriter.change(id, ({ paused, ...schedule }) => {
      if (!paused) return undefined
      return { schedule, dueAt: nextDue(schedule, wallNow(host)), awaits: awaited(id, schedule) }
    })
    scheduler.wake()
    return { id, accepted, ...(accepted ? undefined : { reason: "it is not paused" }) }
  }

  async trigger(id: string, options: { readonly input?: unknown }): Promise<string> {
    const { store, host, scheduleWriter } = this.#components
    let instance = ""
    await scheduleWriter.change(id, async (before, row) => {
      const now = host.now()
      let at = now
      // The id is taken by another trigger in this millisecond, or by a firing at this time.
      while (await store.directory.get(instanceIdOf(id, at))) at++
      instance = instanceIdOf(id, at)
      const startInput = "input" in options ? { startInput: (await scheduleWriter.starts.input(row.workflow, options.input, before.version)).input } : undefined
      const holder = await scheduleWriter.singletonHolder(row, before, startInput?.startInput)
      if (holder !== undefined) throw singletonExists(holder)
      const schedule = withStarted(before, id, at, now, "trigger")
      return { schedule, dueAt: row.dueAt, awaits: row.awaits, starts: [at], ...startInput }
    })
    return instance
  }

  backfill(id: string, options: BackfillOptions): Promise<readonly BackfilledFiring[]> {
    return backfillSchedule(this.#components, id, options)
  }

  async delete(id: string): Promise<void> {
    if (!(await this.#components.store.schedules.remove(id))) throw scheduleNotFound(id)
  }
}
