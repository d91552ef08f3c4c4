import { checkArguments } from "../core/arguments/argument.ts"
import { handleArguments, otherHandleArguments } from "../core/arguments/client-arguments.ts"
import type { Status } from "../core/journal/status.ts"
import type { StepInfo } from "../core/journal/step-info.ts"
import type {
  Changes,
  ControlResult,
  DeleteResult,
  ForkOptions,
  Handle,
  HistoryOptions,
  HistoryPage,
  InstanceDescription,
  RestartOptions,
  ResultOptions,
  SendOptions,
  TerminateOptions,
  Why,
} from "./client-api.ts"
import type { InstanceCalls } from "./instance-calls.ts"

/** The handle of one instance in every client. It checks the arguments of a call, and then makes the call of its client. */
export class InstanceHandle implements Handle<unknown, Record<string, unknown>> {
  readonly id: string
  readonly #current: () => InstanceCalls

  static {
    checkArguments(this.prototype, handleArguments, otherHandleArguments)
  }

  /** `current` is asked at each call, because a test engine replaces its engine after a crash. */
  constructor(current: () => InstanceCalls, id: string) {
    this.#current = current
    this.id = id
  }

  get #calls(): InstanceCalls {
    return this.#current()
  }

  result(options: ResultOptions = {}): Promise<unknown> {
    return this.#calls.result(this.id, options)
  }

  status(): Promise<Status> {
    return this.#calls.status(this.id)
  }

  describe(): Promise<InstanceDescription> {
    return this.#calls.describe(this.id)
  }

  steps(): Promise<readonly StepInfo[]> {
    return this.#calls.steps(this.id)
  }

  history(options: HistoryOptions = {}): Promise<HistoryPage> {
    return this.#calls.history(this.id, options)
  }

  why(): Promise<Why> {
    return this.#calls.why(this.id)
  }

  sendEvent(type: string, payload?: unknown, options: SendOptions = {}): Promise<void> {
    return this.#calls.sendEvent(this.id, type, payload, options)
  }

  signal(type: string, payload?: unknown, options: SendOptions = {}): Promise<void> {
    return this.sendEvent(type, payload, options)
  }

  pause(reason?: string): Promise<ControlResult> {
    return this.#calls.pause(this.id, reason)
  }

  resume(): Promise<ControlResult> {
    return this.#calls.resume(this.id)
  }

  cancel(reason?: string): Promise<ControlResult> {
    return this.#calls.cancel(this.id, reason)
  }

  terminate(options: string | TerminateOptions = {}): Promise<ControlResult> {
    return this.#calls.terminate(this.id, typeof options === "object" ? options : { reason: options })
  }

  restart(options: RestartOptions = {}): Promise<ControlResult> {
    return this.#calls.restart(this.id, options)
  }

  async fork(options: ForkOptions): Promise<Handle<unknown, Record<string, unknown>>> {
    return new InstanceHandle(this.#current, await this.#calls.fork(this.id, options))
  }

  query<Answer = unknown>(name: string, ...args: readonly unknown[]): Promise<Answer> {
    return this.#calls.query(this.id, name, args) as Promise<Answer>
  }

  update<Answer = unknown>(name: string, ...args: readonly unknown[]): Promise<Answer> {
    return this.#calls.update(this.id, name, args) as Promise<Answer>
  }

  delete(): Promise<DeleteResult> {
    return this.#calls.delete(this.id)
  }

  changes(cursor?: string): Changes {
    return this.#calls.changes(this.id, cursor)
  }
}
