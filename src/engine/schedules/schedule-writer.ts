import { PerdureError } from "../../core/errors.ts"
import { decodeSchedule, encodeSchedule, instanceIdOf, type Schedule } from "../../core/time/schedule.ts"
import type { Turn } from "../../ports/journal-store.ts"
import type { ScheduleChange, ScheduleRow } from "../../ports/schedule-store.ts"
import type { Store } from "../../ports/store.ts"
import type { ScheduledStarts } from "./scheduled-starts.ts"
import type { Worker } from "../worker/worker.ts"

const triesMax = 100

/** The new state of a schedule, and the instances to start and to cancel with it. */
export interface ScheduleEdit {
  readonly schedule: Schedule
  readonly workflow?: string
  readonly dueAt: number | undefined
  readonly awaits: string | undefined
  /** The input of its instances from now on, encoded. */
  readonly input?: string
  /** The scheduled times to start an instance for. */
  readonly starts?: readonly number[]
  /** The input of these instances. Default: the input of the schedule. */
  readonly startInput?: string
  /** Instances to cancel. */
  readonly cancels?: readonly string[]
  readonly ended?: readonly string[]
  readonly live?: readonly string[]
}

/** Writes schedules. A write is lost if the revision of the schedule has changed since it was read. Workers are told about the started instances. */
export class ScheduleWriter {
  readonly #store: Store
  readonly starts: ScheduledStarts
  readonly #worker: Worker

  constructor(store: Store, starts: ScheduledStarts, worker: Worker) {
    this.#store = store
    this.starts = starts
    this.#worker = worker
  }

  /** Reads the schedule, decides, and writes. Repeats all three if the write is lost. A decision that is undefined changes nothing. */
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
      // The hint is sent after a failure, too, because the write may have happened.
      this.#worker.committer.onWritten()
      this.#worker.hint([...starts.map((at) => instanceIdOf(id, at)), ...cancels])
    }
  }

  /** The instance that holds the singleton key, so that the schedule cannot start another one. */
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
