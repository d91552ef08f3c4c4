import { PerdureError } from "../../core/errors.ts"
import { decodeSchedule, encodeSchedule, instanceIdOf, type Schedule } from "../../core/time/schedule.ts"
import type { Turn } from "../../ports/journal-store.ts"
import type { ScheduleChange, ScheduleRow } from "../../ports/schedule-store.ts"
import type { Store } from "../../ports/store.ts"
import type { ScheduledStarts } from "./scheduled-starts.ts"
import type { Worker } from "../worker/worker.ts"

const triesMax = 100

/** What is to become of a schedule, and the instances that hang on it. */
export interface ScheduleEdit {
  readonly schedule: Schedule
  readonly workflow?: string
  readonly dueAt: number | undefined
  readonly awaits: string | undefined
  /** The input of its instances from now on, encoded. */
  readonly input?: string
  /** Times to start an instance for; with an input of their own, or else the schedule's. */
  readonly starts?: readonly number[]
  readonly startInput?: string
  /** Instances to cancel. */
  readonly cancels?: readonly string[]
  readonly ended?: readonly string[]
  readonly live?: readonly string[]
}

/** Changes schedules under the fence of their revision, and lets the instances that they start be found. */
export class ScheduleWriter {
  readonly #store: Store
  /** What it starts instances with. */
  readonly starts: ScheduledStarts
  readonly #worker: Worker

  constructor(store: Store, starts: ScheduledStarts, worker: Worker) {
    this.#store = store
    this.starts = starts
    this.#worker = worker
  }

  /** Decides on what is there now, again where somebody else was first. Undefined: nothing is to be changed. */
  async change(id: string, decide: (schedule: Schedule, row: ScheduleRow) => ScheduleEdit | undefined | Promise<ScheduleEdit | undefined>): Promise<boolean> {
    for (let tries = 0; tries < triesMax; tries++) {
      const row = await this.#store.schedules.get(id)
      if (row === undefined) throw scheduleNotFound(id)
      const edit = await decide(decodeSchedule(row.state), row)
      if (edit === undefined) return false
      if ((await this.write(row, edit)) === "written") return true
    }
    throw new PerdureError("STORE_FAILED", `schedule "${id}" changes too fast: ${triesMax} attempts to change it were lost; pause it first`)
  }

  async write(row: ScheduleRow, edit: ScheduleEdit): Promise<"written" | "lost"> {
    const { starts = [], cancels = [], dueAt, awaits, input, ended, live } = edit
    const now = this.#worker.host.now()
    const { id, incarnation, createdAt } = row
    const creates = await this.#startTurns(row, edit)
    const change: ScheduleChange = {
      row: {
        id,
        incarnation,
        revision: row.revision + 1,
        workflow: edit.workflow ?? row.workflow,
        createdAt,
        updatedAt: now,
        ...(dueAt === undefined ? undefined : { dueAt }),
        ...(awaits === undefined ? undefined : { awaits }),
        state: encodeSchedule(edit.schedule),
      },
      creates,
      messages: cancels.map((instance) => ({ instance, kind: "cancel", at: now, topic: `schedule "${id}" is due again` })),
      ...(input === undefined ? undefined : { input }),
      ...(ended === undefined ? undefined : { ended }),
      ...(live === undefined ? undefined : { live }),
    }
    try {
      return await this.#store.schedules.write(change)
    } finally {
      // Also where nobody knows whether it is written.
      this.#worker.committer.onWritten()
      this.#worker.hint([...starts.map((at) => instanceIdOf(id, at)), ...cancels])
    }
  }

  /** The instance that keeps those of the schedule from being started, as only one of its key may be there. */
  async singletonHolder({ id, workflow }: ScheduleRow, { version }: Schedule, startInput?: string): Promise<string | undefined> {
    if (!this.starts.isSingleton(workflow, version)) return undefined
    const input = startInput ?? (await this.#store.schedules.input(id)) ?? ""
    const singleton = this.starts.singleton(workflow, version, input)
    return singleton && this.#store.flow.holder(singleton)
  }

  async #startTurns({ id, workflow }: ScheduleRow, { schedule, starts = [], startInput }: ScheduleEdit): Promise<readonly Turn[]> {
    if (starts.length === 0) return []
    const input = startInput ?? (await this.#store.schedules.input(id)) ?? ""
    return starts.map((at) => this.starts.turn({ id: instanceIdOf(id, at), workflow, input, definition: schedule, schedule: { id, scheduledAt: at } }))
  }
}

export function scheduleNotFound(id: string): PerdureError {
  return new PerdureError("SCHEDULE_NOT_FOUND", `there is no schedule "${id}"; it was never created, or is deleted`, { details: { schedule: id } })
}
