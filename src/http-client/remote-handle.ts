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
} from "../client-api/client-api.ts"
import { ChangeStreamConnection } from "./change-stream-connection.ts"
import type { InstanceCalls } from "./instance-calls.ts"
import type { Transport } from "./transport.ts"
import { refuseTransaction } from "./error-messages.ts"

/** One instance of a server's. */
export class RemoteHandle implements Handle<unknown, Record<string, unknown>> {
  readonly id: string
  readonly #calls: InstanceCalls
  readonly #transport: Transport

  static {
    checkArguments(this.prototype, handleArguments, otherHandleArguments)
  }

  constructor(transport: Transport, calls: InstanceCalls, id: string) {
    this.#transport = transport
    this.#calls = calls
    this.id = id
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

  async steps(): Promise<readonly StepInfo[]> {
    return (await this.describe()).steps
  }

  history(options: HistoryOptions = {}): Promise<HistoryPage> {
    return this.#calls.history(this.id, options)
  }

  why(): Promise<Why> {
    return this.#calls.why(this.id)
  }

  async sendEvent(type: string, payload?: unknown, options: SendOptions = {}): Promise<void> {
    refuseTransaction(options.transaction)
    return this.#calls.sendEvent(this.id, type, payload, options.eventId)
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

  async fork(options: ForkOptions): Promise<Handle> {
    return new RemoteHandle(this.#transport, this.#calls, await this.#calls.fork(this.id, options))
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
    return new ChangeStreamConnection(this.#transport, ["workflows", this.id, "stream"], cursor)
  }
}
