import { checkArguments } from "../core/arguments/argument.ts"
import { otherScheduleArguments, scheduleArguments, scheduleHandleArguments } from "../core/arguments/client-arguments.ts"
import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { Handle } from "./client-api.ts"
import type { ScheduleCalls, ScheduleCreation } from "./schedule-calls.ts"
import type {
  BackfilledFiring,
  BackfillOptions,
  ScheduleClient,
  ScheduleControlResult,
  ScheduleDescription,
  ScheduleFilter,
  ScheduleHandle,
  ScheduleHandleOf,
  ScheduleOptionsOf,
  SchedulePage,
  ScheduleUpdate,
} from "./schedule-client.ts"

type HandleById = (id: string) => Handle

/** The schedules of every client. Its methods check arguments, and then make the call of the client. */
export class CheckedSchedules implements ScheduleClient {
  readonly #current: () => ScheduleCalls
  readonly #handleOf: HandleById

  static {
    checkArguments(this.prototype, scheduleArguments, otherScheduleArguments)
  }

  /** `current` is asked at each call, because a test engine replaces its engine after a crash. `handleOf` makes the handle of an instance. */
  constructor(current: () => ScheduleCalls, handleOf: HandleById) {
    this.#current = current
    this.#handleOf = handleOf
  }

  create<W extends AnyWorkflow | string>(id: string, options: ScheduleOptionsOf<NoInfer<W>> & { readonly workflow: W }): Promise<ScheduleHandleOf<W>>
  async create(id: string, options: ScheduleCreation): Promise<ScheduleHandle> {
    await this.#current().create(id, options)
    return this.get(id)
  }

  get<W extends AnyWorkflow | string>(workflowOrId: W, ...id: W extends string ? [] : [id: string]): ScheduleHandleOf<W>
  get(first: AnyWorkflow | string, second?: string): ScheduleHandle {
    return new CheckedScheduleHandle(this.#current, this.#handleOf, typeof first === "string" ? first : (second ?? ""))
  }

  async list(filter: ScheduleFilter = {}): Promise<SchedulePage> {
    return this.#current().list(filter)
  }
}

class CheckedScheduleHandle implements ScheduleHandle {
  readonly id: string
  readonly #current: () => ScheduleCalls
  readonly #handleOf: HandleById

  static {
    checkArguments(this.prototype, scheduleHandleArguments)
  }

  constructor(current: () => ScheduleCalls, handleOf: HandleById, id: string) {
    this.#current = current
    this.#handleOf = handleOf
    this.id = id
  }

  async describe(): Promise<ScheduleDescription> {
    return this.#current().describe(this.id)
  }

  async update(changes: ScheduleUpdate): Promise<void> {
    return this.#current().update(this.id, changes)
  }

  async pause(reason?: string): Promise<ScheduleControlResult> {
    return this.#current().pause(this.id, reason)
  }

  async resume(): Promise<ScheduleControlResult> {
    return this.#current().resume(this.id)
  }

  async trigger(options: { readonly input?: unknown } = {}): Promise<Handle> {
    return this.#handleOf(await this.#current().trigger(this.id, options))
  }

  async backfill(options: BackfillOptions): Promise<readonly BackfilledFiring[]> {
    return this.#current().backfill(this.id, options)
  }

  async delete(): Promise<void> {
    return this.#current().delete(this.id)
  }
}
