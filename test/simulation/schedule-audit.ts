import type { ScheduleChange, ScheduleRow } from "../../src/ports/schedule-store.ts"
import type { Statistics } from "./statistics.ts"

/**
 * Checks schedules by their rows in the store: every due time is decided once and not before it comes, an
 * instance is started for it at most once, and forbidden overlaps do not occur. The audit computes times independently of the engine.
 */
export class ScheduleAudit {
  readonly #schedules = new Map<string, AuditedSchedule>()
  readonly #isLive: (instance: string) => boolean
  readonly #report: (violation: string) => void

  constructor(isLive: (instance: string) => boolean, report: (violation: string) => void) {
    this.#isLive = isLive
    this.#report = report
  }

  /** Has to be called before the started instances exist. */
  written({ row, creates = [], messages = [] }: ScheduleChange): void {
    const before = this.#schedules.get(row.id)
    const wrong = (what: string) => this.#report(`schedule ${row.id}, revision ${row.revision}: ${what}`)
    const state = JSON.parse(row.state) as RawSchedule
    if (row.revision !== (before?.row.revision ?? 0) + 1) wrong(`it follows revision ${before?.row.revision}`)
    if (before && before.row.incarnation !== row.incarnation) wrong("it is another schedule")
    const fired = before?.fired ?? new Set<number>()
    const live = [...fired].filter((at) => this.#isLive(instanceOf(row.id, at)))
    const started = creates.map(({ instance }) => timeOf(row.id, instance))
    if (state.counts.started - (before?.state.counts.started ?? 0) !== started.length)
      wrong(`it starts ${started.join()} and has counted ${state.counts.started}`)
    for (const at of started) {
      if (fired.has(at)) wrong(`${at} is fired twice`)
      if (!isDue(state, row, at)) wrong(`${at} is none of its times`)
      if (at > row.updatedAt) wrong(`${at} is fired before it comes, at ${row.updatedAt}`)
      if (state.overlap !== "allow" && live.length > 0) wrong(`${at} is fired while ${live.join()} is not over`)
      fired.add(at)
    }
    for (const at of state.waiting) if (fired.has(at) || at > row.updatedAt) wrong(`${at} waits, which was fired or has not come`)
    if (state.waiting.length > 1) wrong(`${state.waiting.join()} wait`)
    for (const { instance, kind } of messages)
      if (kind !== "cancel" || state.overlap !== "cancel-previous" || !fired.has(timeOf(row.id, instance))) wrong(`it sends ${kind} to ${instance}`)
    this.#checkLast(row, state, before?.state, live.length, wrong)
    this.#schedules.set(row.id, { row, state, fired })
  }

  /** Checks the reasons why the last due times started no instance. */
  #checkLast(row: ScheduleRow, state: RawSchedule, before: RawSchedule | undefined, live: number, wrong: (what: string) => void): void {
    const last = state.log.at(-1)
    if (state.counts.skipped > (before?.counts.skipped ?? 0) && last?.because === "running" && live === 0) wrong(`${last.to} is skipped, but nothing runs`)
    if (state.counts.skipped > (before?.counts.skipped ?? 0) && state.overlap === "allow") wrong(`${last?.to} is skipped, although it may overlap`)
    const missed = state.log.findLast(({ outcome }) => outcome === "missed")
    if (state.counts.missed > (before?.counts.missed ?? 0) && (missed?.to ?? Infinity) > row.updatedAt - promptMs) wrong(`${missed?.to} is missed so soon`)
  }

  /** Whether no due time is left to be decided. */
  isDone(id: string): boolean {
    const { row } = this.#schedules.get(id) ?? {}
    return row !== undefined && row.dueAt === undefined && row.awaits === undefined
  }

  /** Checks at the end that every due time was decided. */
  check(statistics: Statistics): void {
    for (const [id, { row, state, fired }] of this.#schedules) {
      const { every } = state.recurrence
      const times = Math.max(0, Math.floor(state.endAt / every) - Math.floor(row.createdAt / every))
      const { started, skipped, missed } = state.counts
      if (started + skipped + missed !== times || state.waiting.length > 0)
        this.#report(`schedule ${id}: of ${times} times ${started} are started, ${skipped} skipped, ${missed} missed, ${state.waiting.length} wait`)
      if (fired.size !== started) this.#report(`schedule ${id}: ${started} are counted as started, and ${fired.size} were`)
      statistics.count("schedules")
      statistics.count("firings", started)
      statistics.count("firings skipped", skipped)
      statistics.count("firings missed", missed)
    }
  }
}

/** A firing that is late by less than this is not missed. */
const promptMs = 10_000

interface AuditedSchedule {
  readonly row: ScheduleRow
  readonly state: RawSchedule
  readonly fired: Set<number>
}

interface RawSchedule {
  readonly recurrence: { readonly every: number }
  readonly overlap: string
  readonly endAt: number
  readonly waiting: readonly number[]
  readonly counts: { readonly started: number; readonly skipped: number; readonly missed: number }
  readonly log: readonly { readonly outcome: string; readonly because?: string; readonly to?: number }[]
}

function isDue({ recurrence, endAt }: RawSchedule, { createdAt }: ScheduleRow, at: number): boolean {
  return at % recurrence.every === 0 && at > createdAt && at <= endAt
}

function instanceOf(schedule: string, at: number): string {
  return `${schedule}:${new Date(at).toISOString().replace(".000Z", "Z")}`
}

function timeOf(schedule: string, instance: string): number {
  return Date.parse(instance.slice(schedule.length + 1))
}
