import { checkArguments } from "../../core/arguments/argument.ts"
import { scheduleArguments, otherScheduleArguments, scheduleHandleArguments } from "../../core/arguments/client-arguments.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { Handle } from "../../client-api/client-api.ts"
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
  ScheduleUpdate,
} from "../../client-api/schedule-client.ts"
import type { ScheduleMethod } from "../objects/schedule-object.ts"

/** How schedules are reached. */
export interface ScheduleCalls {
  callSchedule(id: string, method: ScheduleMethod, args: readonly unknown[]): Promise<unknown>
  listSchedules(filter: ScheduleFilter): Promise<SchedulePage>
  get(id: string): Handle
}

/** The schedules behind a binding, each in an object of its own. */
export class ObjectScheduleClient implements ScheduleClient {
  readonly #calls: ScheduleCalls

  static {
    checkArguments(this.prototype, scheduleArguments, otherScheduleArguments)
  }

  constructor(calls: ScheduleCalls) {
    this.#calls = calls
  }

  create<W extends AnyWorkflow | string>(id: string, options: ScheduleOptionsOf<NoInfer<W>> & { readonly workflow: W }): Promise<ScheduleHandleOf<W>>
  async create(id: string, options: ScheduleOptions<unknown> & { readonly workflow: AnyWorkflow | string }): Promise<ScheduleHandle> {
    const { workflow } = options
    await this.#calls.callSchedule(id, "create", [{ ...options, workflow: typeof workflow === "object" ? workflow.name : workflow }])
    return this.get(id)
  }

  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): ScheduleHandleOf<W>
  get(first: AnyWorkflow | string, second?: string): ScheduleHandle {
    return new ObjectScheduleHandle(this.#calls, typeof first === "string" ? first : (second ?? ""))
  }

  list(filter: ScheduleFilter = {}): Promise<SchedulePage> {
    return this.#calls.listSchedules(filter)
  }
}

class ObjectScheduleHandle implements ScheduleHandle {
  readonly id: string
  readonly #calls: ScheduleCalls

  static {
    checkArguments(this.prototype, scheduleHandleArguments)
  }

  constructor(calls: ScheduleCalls, id: string) {
    this.#calls = calls
    this.id = id
  }

  async #call<T>(method: ScheduleMethod, ...args: readonly unknown[]): Promise<T> {
    return (await this.#calls.callSchedule(this.id, method, args)) as T
  }

  describe(): Promise<ScheduleDescription> {
    return this.#call("describe")
  }

  update(changes: ScheduleUpdate): Promise<void> {
    return this.#call("update", changes)
  }

  pause(reason?: string): Promise<ScheduleControlResult> {
    return this.#call("pause", reason)
  }

  resume(): Promise<ScheduleControlResult> {
    return this.#call("resume")
  }

  async trigger(options: { readonly input?: unknown } = {}): Promise<Handle> {
    return this.#calls.get(await this.#call<string>("trigger", options))
  }

  backfill(options: BackfillOptions): Promise<readonly BackfilledFiring[]> {
    return this.#call("backfill", options)
  }

  delete(): Promise<void> {
    return this.#call("delete")
  }
}
