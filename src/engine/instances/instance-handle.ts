import { checkArguments } from "../../core/arguments/argument.ts"
import { handleArguments, otherHandleArguments } from "../../core/arguments/client-arguments.ts"
import type { Status } from "../../core/journal/status.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
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
} from "../../client-api/client-api.ts"
import { ChangeSequence } from "../changes/change-sequence.ts"
import type { Engine } from "../engine.ts"

/** One instance, as the engine that knows it. */
export class InstanceHandle implements Handle<unknown, Record<string, unknown>> {
  readonly id: string
  readonly #current: () => Engine

  static {
    checkArguments(this.prototype, handleArguments, otherHandleArguments)
  }

  /** The engine may be another one at each call: in tests it is, after a crash. */
  constructor(current: () => Engine, id: string) {
    this.#current = current
    this.id = id
  }

  get #engine(): Engine {
    return this.#current()
  }

  result(options?: ResultOptions): Promise<unknown> {
    return this.#engine.result(this.id, options)
  }

  async status(): Promise<Status> {
    return (await this.#engine.parts.reader.row(this.id)).status
  }

  describe(): Promise<InstanceDescription> {
    return this.#engine.describe(this.id)
  }

  steps(): Promise<readonly StepInfo[]> {
    return this.#engine.parts.reader.steps(this.id)
  }

  history(options: HistoryOptions = {}): Promise<HistoryPage> {
    return this.#engine.parts.reader.history(this.id, options)
  }

  why(): Promise<Why> {
    return this.#engine.why(this.id)
  }

  sendEvent(type: string, payload?: unknown, options: SendOptions = {}): Promise<void> {
    return this.#engine.parts.controls.sendEvent(this.id, type, payload, options)
  }

  signal(type: string, payload?: unknown, options: SendOptions = {}): Promise<void> {
    return this.sendEvent(type, payload, options)
  }

  pause(reason?: string): Promise<ControlResult> {
    return this.#engine.pause(this.id, reason)
  }

  resume(): Promise<ControlResult> {
    return this.#engine.resume(this.id)
  }

  cancel(reason?: string): Promise<ControlResult> {
    return this.#engine.cancel(this.id, reason)
  }

  terminate(options?: string | TerminateOptions): Promise<ControlResult> {
    return this.#engine.terminate(this.id, options)
  }

  fork(options: ForkOptions): Promise<Handle<unknown, Record<string, unknown>>> {
    return this.#engine.fork(this.id, options)
  }

  query<Answer = unknown>(name: string, ...args: readonly unknown[]): Promise<Answer> {
    return this.#engine.query(this.id, name, ...args) as Promise<Answer>
  }

  update<Answer = unknown>(name: string, ...args: readonly unknown[]): Promise<Answer> {
    return this.#engine.update(this.id, name, ...args) as Promise<Answer>
  }

  restart(options: RestartOptions = {}): Promise<ControlResult> {
    return this.#engine.restart(this.id, options)
  }

  delete(): Promise<DeleteResult> {
    return this.#engine.delete(this.id)
  }

  changes(cursor?: string): Changes {
    return new ChangeSequence(() => this.#engine.parts.changes, cursor, this.id)
  }
}
