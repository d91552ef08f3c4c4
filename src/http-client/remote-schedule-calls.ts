import type { ScheduleCalls, ScheduleCreation } from "../client-api/schedule-calls.ts"
import type {
  BackfilledFiring,
  BackfillOptions,
  ScheduleControlResult,
  ScheduleDescription,
  ScheduleFilter,
  SchedulePage,
  ScheduleSummary,
  ScheduleUpdate,
} from "../client-api/schedule-client.ts"
import { workflowName } from "../client-api/workflow-reference.ts"
import { withoutUndefined, instantOf, scheduleFrom, scheduleSummaryFrom } from "./wire-bodies.ts"
import { valueIn } from "./response.ts"
import type { Transport } from "./transport.ts"

/** The calls on schedules over HTTP. */
export class RemoteScheduleCalls implements ScheduleCalls {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async create(id: string, options: ScheduleCreation): Promise<void> {
    const { workflow, input, startAt, endAt, ...rest } = options
    const body = withoutUndefined({ id, type: workflowName(workflow), payload: input, startAt: instantOf(startAt), endAt: instantOf(endAt), ...rest })
    // A repeated request finds the schedule of the first one. That is no error only if the schedule may exist.
    valueIn(await this.#transport.exchange({ method: "POST", path: ["schedules"], body, isRepeatable: options.ifExists === "update" }))
  }

  async list(filter: ScheduleFilter): Promise<SchedulePage> {
    const answer = await this.#transport.exchange({ method: "GET", path: ["schedules"], query: { ...filter }, isRepeatable: true })
    const { schedules, ...rest } = valueIn(answer) as { readonly schedules: readonly (Omit<ScheduleSummary, "workflow"> & { readonly type: string })[] }
    return { ...rest, schedules: schedules.map(scheduleSummaryFrom) }
  }

  async describe(id: string): Promise<ScheduleDescription> {
    const answer = await this.#transport.exchange({ method: "GET", path: ["schedules", id], isRepeatable: true })
    return scheduleFrom(valueIn(answer) as Parameters<typeof scheduleFrom>[0])
  }

  async update(id: string, { input, startAt, endAt, ...rest }: ScheduleUpdate): Promise<void> {
    const body = withoutUndefined({ ...rest, payload: input, startAt: instantOf(startAt), endAt: instantOf(endAt) })
    valueIn(await this.#transport.exchange({ method: "PATCH", path: ["schedules", id], body, isRepeatable: true }))
  }

  pause(id: string, reason: string | undefined): Promise<ScheduleControlResult> {
    return this.#control(id, "pause", withoutUndefined({ reason }))
  }

  resume(id: string): Promise<ScheduleControlResult> {
    return this.#control(id, "resume", {})
  }

  /** The request is not sent again, because each request starts an instance. */
  async trigger(id: string, { input }: { readonly input?: unknown }): Promise<string> {
    const body = withoutUndefined({ payload: input })
    const answer = await this.#transport.exchange({ method: "POST", path: ["schedules", id, "trigger"], body, isRepeatable: false })
    return (valueIn(answer) as { readonly id: string }).id
  }

  /** The request may be sent again: it fires no time twice. */
  async backfill(id: string, { from, to, overlap }: BackfillOptions): Promise<readonly BackfilledFiring[]> {
    const body = withoutUndefined({ from: instantOf(from), to: instantOf(to), overlap })
    const answer = await this.#transport.exchange({ method: "POST", path: ["schedules", id, "backfill"], body, isRepeatable: true })
    return (valueIn(answer) as { readonly firings: readonly BackfilledFiring[] }).firings
  }

  async delete(id: string): Promise<void> {
    const answer = await this.#transport.exchange({ method: "DELETE", path: ["schedules", id], isRepeatable: true })
    if (answer.isRepeat && answer.error?.code === "SCHEDULE_NOT_FOUND") return
    valueIn(answer)
  }

  async #control(id: string, what: string, body: object): Promise<ScheduleControlResult> {
    const answer = await this.#transport.exchange({ method: "POST", path: ["schedules", id, what], body, isRepeatable: true })
    const result = valueIn(answer) as Omit<ScheduleControlResult, "accepted"> & { readonly accepted?: boolean }
    return { ...result, accepted: answer.isRepeat || (result.accepted ?? true) }
  }
}
