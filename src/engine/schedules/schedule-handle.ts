import { checkArguments } from "../../core/arguments/argument.ts"
import { scheduleHandleArguments } from "../../core/arguments/client-arguments.ts"
import { PerdureError } from "../../core/errors.ts"
import { dueAfterChange, dueTimes, instanceIdOf, nextDue, type Schedule, scheduleInstant, withStarted } from "../../core/time/schedule.ts"
import { awaited } from "../../core/time/schedule-decision.ts"
import type { Handle } from "../../client-api/client-api.ts"
import type { SchedulingComponents } from "../engine-components.ts"
import type {
  BackfilledFiring,
  BackfillOptions,
  ScheduleControlResult,
  ScheduleDescription,
  ScheduleHandle,
  ScheduleUpdate,
} from "../../client-api/schedule-client.ts"
import { changedDefinition } from "./schedule-options.ts"
import { singletonExists } from "../flow-control/singletons.ts"
import { describeSchedule } from "./schedule-summary.ts"
import { scheduleNotFound } from "./schedule-writer.ts"
import { wallNow } from "../wall-clock.ts"

/** So many times may be backfilled by one call, and wait at once. */
const backfillMax = 1_000

/** One transaction starts no more instances than this, and has no more text of inputs. */
const startsMax = 200
const startTextMax = 8 * 1024 * 1024

/** One schedule, as the engine that knows it. */
export class StoredScheduleHandle implements ScheduleHandle {
  readonly id: string
  readonly #current: () => SchedulingComponents
  readonly #handle: (id: string) => Handle

  static {
    checkArguments(this.prototype, scheduleHandleArguments)
  }

  constructor(current: () => SchedulingComponents, handle: (id: string) => Handle, id: string) {
    this.id = id
    this.#current = current
    this.#handle = handle
  }

  get #parts(): SchedulingComponents {
    return this.#current()
  }

  async describe(): Promise<ScheduleDescription> {
    const { store, host, registry, settings } = this.#parts
    const row = await store.schedules.get(this.id)
    const input = await store.schedules.input(this.id)
    if (row === undefined || input === undefined) throw scheduleNotFound(this.id)
    return describeSchedule(row, input, (id) => store.directory.get(id), { now: host.now(), workflows: registry.names, codecs: settings.codecs })
  }

  async update(changes: ScheduleUpdate): Promise<void> {
    const { host, scheduler, scheduleWriter } = this.#parts
    await scheduleWriter.change(this.id, async (before, row) => {
      const { version, paused, waiting, running, counts, log } = before
      const given = "input" in changes ? await scheduleWriter.starts.input(row.workflow, changes.input, version) : undefined
      const sensitive = given?.sensitive ?? before.sensitive
      const marks = { ...(version === undefined ? undefined : { version }), ...(sensitive ? { sensitive } : undefined) }
      const kept = { ...marks, ...(paused ? { paused } : undefined), waiting, running, counts, log }
      const schedule: Schedule = { ...changedDefinition(changes, before), ...kept }
      const dueAt = dueAfterChange(before, row.dueAt, schedule, wallNow(host))
      return { schedule, dueAt, awaits: awaited(this.id, schedule), ...(given ? { input: given.input } : undefined) }
    })
    scheduler.wake()
  }

  async pause(reason?: string): Promise<ScheduleControlResult> {
    const { host, scheduleWriter } = this.#parts
    const accepted = await scheduleWriter.change(this.id, (before) => {
      if (before.paused) return undefined
      const paused = { at: host.now(), ...(reason === undefined ? undefined : { reason }) }
      return { schedule: { ...before, paused }, dueAt: undefined, awaits: undefined }
    })
    return { id: this.id, accepted, ...(accepted ? undefined : { reason: "it is paused already" }) }
  }

  async resume(): Promise<ScheduleControlResult> {
    const { host, scheduler, scheduleWriter } = this.#parts
    const accepted = await scheduleWriter.change(this.id, ({ paused, ...schedule }) => {
      if (!paused) return undefined
      return { schedule, dueAt: nextDue(schedule, wallNow(host)), awaits: awaited(this.id, schedule) }
    })
    scheduler.wake()
    return { id: this.id, accepted, ...(accepted ? undefined : { reason: "it is not paused" }) }
  }

  async trigger(options: { readonly input?: unknown } = {}): Promise<Handle> {
    const { store, host, scheduleWriter } = this.#parts
    let instance = ""
    await scheduleWriter.change(this.id, async (before, row) => {
      const now = host.now()
      let at = now
      // Two in one millisecond, or one at a due time that has been fired.
      while (await store.directory.get(instanceIdOf(this.id, at))) at++
      instance = instanceIdOf(this.id, at)
      const startInput = "input" in options ? { startInput: (await scheduleWriter.starts.input(row.workflow, options.input, before.version)).input } : undefined
      const holder = await scheduleWriter.singletonHolder(row, before, startInput?.startInput)
      if (holder !== undefined) throw singletonExists(holder)
      const schedule = withStarted(before, this.id, at, now, "trigger")
      return { schedule, dueAt: row.dueAt, awaits: row.awaits, starts: [at], ...startInput }
    })
    return this.#handle(instance)
  }

  async backfill(options: BackfillOptions): Promise<readonly BackfilledFiring[]> {
    const { store, host, scheduler, scheduleWriter } = this.#parts
    const { from, to } = checkWindow(options, wallNow(host))
    const input = await store.schedules.input(this.id)
    if (input === undefined) throw scheduleNotFound(this.id)
    const startMax = Math.max(1, Math.min(startsMax, Math.floor(startTextMax / Math.max(1, input.length))))
    const started = new Set<number>()
    let answer: readonly BackfilledFiring[] = []
    const more = () =>
      scheduleWriter.change(this.id, async (before, row) => {
        const times = checkedTimes(before, from, to)
        const missing: number[] = []
        for (const at of times) if (!before.waiting.includes(at) && !(await store.directory.get(instanceIdOf(this.id, at)))) missing.push(at)
        const isSingleton = scheduleWriter.starts.isSingleton(row.workflow, before.version)
        if (isSingleton && options.overlap === "allow") throw notAtOnce(row.workflow)
        const isQueued = (options.overlap ?? (before.overlap === "allow" && !isSingleton ? "allow" : "queue")) === "queue"
        const starts = isQueued ? [] : missing.slice(0, startMax)
        const waiting = isQueued ? [...before.waiting, ...missing] : before.waiting
        if (waiting.length > backfillMax) throw tooMany(`${waiting.length} times would wait; wait until fewer do`)
        for (const at of starts) started.add(at)
        answer = times.map((at) => ({
          id: instanceIdOf(this.id, at),
          scheduledAt: at,
          outcome: started.has(at) ? "started" : waiting.includes(at) ? "queued" : "exists",
        }))
        if (missing.length === 0) return undefined
        const now = host.now()
        const schedule = starts.reduce((all, at) => withStarted(all, this.id, at, now, "backfill"), { ...before, waiting })
        return { schedule, dueAt: row.dueAt, awaits: awaited(this.id, schedule), starts }
      })
    while (await more());
    scheduler.wake()
    return answer
  }

  async delete(): Promise<void> {
    if (!(await this.#parts.store.schedules.remove(this.id))) throw scheduleNotFound(this.id)
  }
}

function checkWindow(options: BackfillOptions, now: number): { readonly from: number; readonly to: number } {
  const from = scheduleInstant(options.from, "from")
  const to = scheduleInstant(options.to, "to")
  const bad = (message: string) => new PerdureError("BAD_OPTION", `backfill: ${message}`)
  if (to < from) throw bad("to is before from; give a later to")
  if (to > now) throw bad("to is in the future; times to come fire by themselves")
  return { from, to }
}

function checkedTimes(schedule: Schedule, from: number, to: number): readonly number[] {
  const times = dueTimes(schedule, from, to, backfillMax + 1)
  if (times.length <= backfillMax) return times
  throw tooMany(
    `there are more than ${backfillMax} times from ${new Date(from).toISOString()} to ${new Date(to).toISOString()}; backfill a shorter stretch at a time`,
  )
}

function notAtOnce(workflow: string): PerdureError {
  return new PerdureError("BAD_OPTION", `backfill: there may be only one instance of workflow "${workflow}" at a time; say overlap: "queue", or nothing`)
}

function tooMany(message: string): PerdureError {
  return new PerdureError("LIMIT_EXCEEDED", `backfill: ${message}`, { details: { limit: "backfill", max: backfillMax } })
}
