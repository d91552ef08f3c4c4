import { checkArguments } from "../core/arguments/argument.ts"
import { scheduleArguments, otherScheduleArguments, scheduleHandleArguments } from "../core/arguments/client-arguments.ts"
import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { Handle } from "../client-api/client-api.ts"
import type {
  BackfilledFiring,
  BackfillOptions,
  ScheduleClient,
  ScheduleControlResult,
  ScheduleDescription,
  ScheduleFilter,
  ScheduleHandle,
  ScheduleHandleOf,
  ScheduleOptions,
  ScheduleOptionsOf,
  SchedulePage,
  ScheduleSummary,
  ScheduleUpdate,
} from "../client-api/schedule-client.ts"
import { valueIn } from "./response.ts"
import type { Transport } from "./transport.ts"
import { given, instantOf, nameOf, scheduleFrom, scheduleSummaryFrom } from "./error-messages.ts"

/** The schedules of a server's engine. */
export class RemoteSchedules implements ScheduleClient {
  readonly #transport: Transport
  readonly #handle: (id: string) => Handle

  static {
    checkArguments(this.prototype, scheduleArguments, otherScheduleArguments)
  }

  constructor(transport: Transport, handle: (id: string) => Handle) {
    this.#transport = transport
    this.#handle = handle
  }

  create<W extends AnyWorkflow | string>(id: string, options: ScheduleOptionsOf<NoInfer<W>> & { readonly workflow: W }): Promise<ScheduleHandleOf<W>>
  async create(id: string, options: ScheduleOptions<unknown> & { readonly workflow: AnyWorkflow | string }): Promise<ScheduleHandle> {
    const { workflow, input, startAt, endAt, ...rest } = options
    const body = given({ id, type: nameOf(workflow), payload: input, startAt: instantOf(startAt), endAt: instantOf(endAt), ...rest })
    // Only one that may be there already can be declared twice.
    valueIn(await this.#transport.exchange({ method: "POST", path: ["schedules"], body, isRepeatable: options.ifExists === "update" }))
    return this.get(id)
  }

  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): ScheduleHandleOf<W>
  get(first: AnyWorkflow | string, second?: string): ScheduleHandle {
    return new RemoteScheduleHandle(this.#transport, this.#handle, typeof first === "string" ? first : (second ?? ""))
  }

  async list(filter: ScheduleFilter = {}): Promise<SchedulePage> {
    const answer = await this.#transport.exchange({ method: "GET", path: ["schedules"], query: { ...filter }, isRepeatable: true })
    const { schedules, ...rest } = valueIn(answer) as { readonly schedules: readonly (Omit<ScheduleSummary, "workflow"> & { readonly type: string })[] }
    return { ...rest, schedules: schedules.map(scheduleSummaryFrom) }
  }
}

class RemoteScheduleHandle implements ScheduleHandle {
  readonly id: string
  readonly #transport: Transport
  readonly #handle: (id: string) => Handle

  static {
    checkArguments(this.prototype, scheduleHandleArguments)
  }

  constructor(transport: Transport, handle: (id: string) => Handle, id: string) {
    this.#transport = transport
    this.#handle = handle
    this.id = id
  }

  async describe(): Promise<ScheduleDescription> {
    const answer = await this.#transport.exchange({ method: "GET", path: ["schedules", this.id], isRepeatable: true })
    return scheduleFrom(valueIn(answer) as Parameters<typeof scheduleFrom>[0])
  }

  async update({ input, startAt, endAt, ...rest }: ScheduleUpdate): Promise<void> {
    const body = given({ ...rest, payload: input, startAt: instantOf(startAt), endAt: instantOf(endAt) })
    valueIn(await this.#transport.exchange({ method: "PATCH", path: ["schedules", this.id], body, isRepeatable: true }))
  }

  pause(reason?: string): Promise<ScheduleControlResult> {
    return this.#control("pause", given({ reason }))
  }

  resume(): Promise<ScheduleControlResult> {
    return this.#control("resume", {})
  }

  /** Starts one more each time: it is not sent again. */
  async trigger(options: { readonly input?: unknown } = {}): Promise<Handle> {
    const body = given({ payload: options.input })
    const answer = await this.#transport.exchange({ method: "POST", path: ["schedules", this.id, "trigger"], body, isRepeatable: false })
    return this.#handle((valueIn(answer) as { readonly id: string }).id)
  }

  /** Times that were fired are told as such when it is sent again. */
  async backfill({ from, to, overlap }: BackfillOptions): Promise<readonly BackfilledFiring[]> {
    const body = given({ from: instantOf(from), to: instantOf(to), overlap })
    const answer = await this.#transport.exchange({ method: "POST", path: ["schedules", this.id, "backfill"], body, isRepeatable: true })
    return (valueIn(answer) as { readonly firings: readonly BackfilledFiring[] }).firings
  }

  async delete(): Promise<void> {
    const answer = await this.#transport.exchange({ method: "DELETE", path: ["schedules", this.id], isRepeatable: true })
    if (answer.isRepeat && answer.error?.code === "SCHEDULE_NOT_FOUND") return
    valueIn(answer)
  }

  async #control(what: string, body: object): Promise<ScheduleControlResult> {
    const answer = await this.#transport.exchange({ method: "POST", path: ["schedules", this.id, what], body, isRepeatable: true })
    const result = valueIn(answer) as Omit<ScheduleControlResult, "accepted"> & { readonly accepted?: boolean }
    return { ...result, accepted: answer.isRepeat || (result.accepted ?? true) }
  }
}
