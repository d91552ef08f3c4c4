import { checkArguments } from "../../core/arguments/argument.ts"
import { scheduleArguments, otherScheduleArguments } from "../../core/arguments/client-arguments.ts"
import { PerdureError } from "../../core/errors.ts"
import { dueAfterChange, encodeSchedule, hasSameRecurrence, nextDue, type Schedule } from "../../core/time/schedule.ts"
import { awaited } from "../../core/time/schedule-decision.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { ScheduleRow } from "../../ports/schedule-store.ts"
import type { Handle } from "../../client-api/client-api.ts"
import type { SchedulingComponents } from "../engine-components.ts"
import { pageLimit } from "../instances/instance-summary.ts"
import type { ScheduleClient, ScheduleFilter, ScheduleHandle, ScheduleHandleOf, ScheduleOptionsOf, SchedulePage } from "../../client-api/schedule-client.ts"
import { StoredScheduleHandle } from "./schedule-handle.ts"
import { checkScheduleId, definitionOf, type GivenOptions } from "./schedule-options.ts"
import { summaryOf } from "./schedule-summary.ts"
import { randomToken } from "../random-token.ts"
import { wallNow } from "../wall-clock.ts"

const fresh = { waiting: [], running: [], counts: { started: 0, skipped: 0, missed: 0 }, log: [] } as const

/** The schedules of an engine. */
export class Schedules implements ScheduleClient {
  readonly #current: () => { readonly parts: SchedulingComponents }
  readonly #handle: (id: string) => Handle

  static {
    checkArguments(this.prototype, scheduleArguments, otherScheduleArguments)
  }

  /** The engine may be another one at each call: in tests it is, after a crash. */
  constructor(current: () => { readonly parts: SchedulingComponents }, handle: (id: string) => Handle) {
    this.#current = current
    this.#handle = handle
  }

  create<W extends AnyWorkflow | string>(id: string, options: ScheduleOptionsOf<NoInfer<W>> & { readonly workflow: W }): Promise<ScheduleHandleOf<W>>
  async create(id: string, options: CreateOptions): Promise<ScheduleHandle> {
    const { store, host, settings, scheduleWriter, scheduler } = this.#parts
    checkScheduleId(id, settings.limits.idLengthMax)
    const { ifExists = "error", paused, workflow: definition, input: value } = options
    const { workflow, version, input, sensitive } = await scheduleWriter.starts.input(definition, value)
    const now = host.now()
    const schedule: Schedule = {
      ...definitionOf(options),
      version,
      ...(sensitive ? { sensitive } : undefined),
      ...(paused === true ? { paused: { at: now } } : undefined),
      ...fresh,
    }
    const dueAt = schedule.paused ? undefined : nextDue(schedule, wallNow(host))
    const row: ScheduleRow = {
      id,
      incarnation: randomToken(host),
      revision: 1,
      workflow,
      createdAt: now,
      updatedAt: now,
      ...(dueAt === undefined ? undefined : { dueAt }),
      state: encodeSchedule(schedule),
    }
    if ((await store.schedules.write({ row, input })) === "lost") {
      if (ifExists === "error")
        throw new PerdureError("SCHEDULE_EXISTS", `schedule "${id}" exists; choose another id, or say ifExists: "update" to change it`, {
          details: { schedule: id },
        })
      await this.#redeclare(id, { ...schedule, workflow, input, wantsPause: paused })
    }
    scheduler.wake()
    return this.get(id)
  }

  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): ScheduleHandleOf<W>
  get(first: AnyWorkflow | string, second?: string): ScheduleHandle {
    return new StoredScheduleHandle(() => this.#parts, this.#handle, typeof first === "string" ? first : (second ?? ""))
  }

  async list(filter: ScheduleFilter = {}): Promise<SchedulePage> {
    const { workflow, cursor, limit } = filter
    const page = await this.#parts.store.schedules.list(workflow === undefined ? {} : { workflow }, {
      limit: pageLimit(limit),
      ...(cursor === undefined ? undefined : { after: cursor }),
    })
    return { schedules: page.items.map(summaryOf), ...(page.cursor === undefined ? undefined : { cursor: page.cursor }) }
  }

  get #parts(): SchedulingComponents {
    return this.#current().parts
  }

  /** What is declared again at every deploy changes only by what is said otherwise now. */
  async #redeclare(id: string, { workflow, input, wantsPause, ...declared }: Declared): Promise<void> {
    const { store, host, scheduleWriter } = this.#parts
    await scheduleWriter.change(id, async (before, row) => {
      const { waiting, running, counts, log } = before
      const now = host.now()
      const paused = wantsPause === undefined ? before.paused : wantsPause ? (before.paused ?? { at: now }) : undefined
      const { paused: _, ...rest } = declared
      const schedule: Schedule = { ...rest, waiting, running, counts, log, ...(paused ? { paused } : undefined) }
      const isSameInput = (await store.schedules.input(id)) === input
      if (isSameInput && row.workflow === workflow && isSameDefinition(schedule, before)) return undefined
      const dueAt = dueAfterChange(before, row.dueAt, schedule, wallNow(host))
      return { schedule, workflow, dueAt, awaits: awaited(id, schedule), ...(isSameInput ? undefined : { input }) }
    })
  }
}

type CreateOptions = GivenOptions & {
  readonly workflow: AnyWorkflow | string
  readonly input?: unknown
  readonly paused?: boolean
  readonly ifExists?: "error" | "update"
}

interface Declared extends Schedule {
  readonly workflow: string
  readonly input: string
  readonly wantsPause: boolean | undefined
}

function isSameDefinition(a: Schedule, b: Schedule): boolean {
  const text = (schedule: Schedule) => JSON.stringify(Object.entries(schedule).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  return hasSameRecurrence(a, b) && text({ ...a, recurrence: b.recurrence }) === text(b)
}
