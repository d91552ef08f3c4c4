import { durationMs } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import type { Status } from "../../core/journal/status.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
import type { AnyWorkflow, EventMap } from "../../core/workflow/workflow.ts"
import type {
  ControlResult,
  DeleteResult,
  ForkOptions,
  HistoryOptions,
  HistoryPage,
  InstanceDescription,
  RestartOptions,
  ResultOptions,
  SendOptions,
  SendOrStartOptions,
  StartOptions,
  TerminateOptions,
  Why,
} from "../../client-api/client-api.ts"
import type { InstanceCalls } from "../../client-api/instance-calls.ts"
import { readWhy } from "../diagnostics/why-reader.ts"
import type { EngineCore } from "../engine-core.ts"
import type { InstanceReader } from "./instance-reader.ts"
import type { QueryUpdateClient } from "./query-update-client.ts"
import type { Restarts } from "./restarts.ts"
import { resultOf } from "./result-waiters.ts"

/** The components, besides the core of an engine, that the calls on an instance need. */
export interface InstanceCallComponents {
  readonly reader: InstanceReader
  readonly restarts: Restarts
  readonly queryUpdateClient: QueryUpdateClient
}

/**
 * The calls on an instance in the process of the engine: those of an `Engine`, and those that the Durable Object of an instance answers. An engine that
 * closes still takes `status`, `steps`, `history` and `sendEvent` until its store is closed, because steps under way may make these calls.
 */
export class LocalInstanceCalls implements Omit<InstanceCalls, "changes"> {
  readonly #core: EngineCore
  readonly #components: InstanceCallComponents
  readonly #requireOpen: () => void

  /** `requireOpen` throws if the engine takes no more calls. */
  constructor(core: EngineCore, components: InstanceCallComponents, requireOpen: () => void = () => undefined) {
    this.#core = core
    this.#components = components
    this.#requireOpen = requireOpen
  }

  async sendOrStart(workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>): Promise<void> {
    this.#requireOpen()
    const { controls, starter, worker, registry } = this.#core.components
    const { id, event, payload, eventId, ...start } = options
    const definition = typeof workflow === "string" ? registry.identify(workflow, start.version) : workflow
    const message = await controls.eventMessage(id, definition, event, payload, eventId === undefined ? {} : { eventId })
    await starter.sendOrStart(workflow, { ...(start as StartOptions<unknown>), id }, { ...message, isChecked: true })
    worker.announce(id, undefined)
    worker.committer.onWritten()
  }

  async result(id: string, { timeout, signal, rejectWhenStalled = false }: ResultOptions): Promise<unknown> {
    this.#requireOpen()
    const { worker, resultWaiters } = this.#core.components
    const timeoutMs = timeout === undefined ? undefined : durationMs(timeout, "timeout")
    const runner = worker.residents.get(id)
    const isRunningHere = runner !== undefined && !runner.state.ended
    // The hooks of an instance run after its end: they may ask for its result.
    if (isRunningHere) this.#refuseSelf(id, "waits for its own result, which can never come; return the value instead")
    return resultOf(id, await resultWaiters.wait(id, timeoutMs, isRunningHere, signal, rejectWhenStalled))
  }

  async status(id: string): Promise<Status> {
    return (await this.#components.reader.row(id)).status
  }

  async describe(id: string): Promise<InstanceDescription> {
    this.#requireOpen()
    return this.#components.reader.describe(id)
  }

  steps(id: string): Promise<readonly StepInfo[]> {
    return this.#components.reader.steps(id)
  }

  history(id: string, options: HistoryOptions): Promise<HistoryPage> {
    return this.#components.reader.history(id, options)
  }

  async why(id: string): Promise<Why> {
    this.#requireOpen()
    return readWhy(this.#core, id)
  }

  sendEvent(id: string, type: string, payload: unknown, options: SendOptions): Promise<void> {
    return this.#core.components.controls.sendEvent(id, type, payload, options)
  }

  async pause(id: string, reason: string | undefined): Promise<ControlResult> {
    this.#requireOpen()
    return this.#core.components.controls.control(id, "pause", reason)
  }

  async resume(id: string): Promise<ControlResult> {
    this.#requireOpen()
    return this.#core.components.controls.control(id, "resume", undefined)
  }

  async cancel(id: string, reason: string | undefined): Promise<ControlResult> {
    this.#requireOpen()
    return this.#core.components.controls.control(id, "cancel", reason)
  }

  async terminate(id: string, options: TerminateOptions): Promise<ControlResult> {
    this.#requireOpen()
    return this.#core.components.controls.terminate(id, options)
  }

  async restart(id: string, options: RestartOptions): Promise<ControlResult> {
    this.#requireOpen()
    return this.#components.restarts.restart(id, options)
  }

  async fork(id: string, options: ForkOptions): Promise<string> {
    this.#requireOpen()
    return this.#components.restarts.fork(id, options)
  }

  async query(id: string, name: string, args: readonly unknown[]): Promise<unknown> {
    this.#requireOpen()
    return this.#components.queryUpdateClient.query(id, name, args)
  }

  async update(id: string, name: string, args: readonly unknown[]): Promise<unknown> {
    this.#requireOpen()
    this.#refuseSelf(id, "updates itself and waits for its own answer")
    return this.#components.queryUpdateClient.update(id, name, args)
  }

  async delete(id: string): Promise<DeleteResult> {
    this.#requireOpen()
    return this.#core.components.controls.delete(id)
  }

  /** Throws if the code of the instance itself makes the call: it would wait for itself. */
  #refuseSelf(id: string, what: string): void {
    const { host, worker } = this.#core.components
    const scope = host.currentScope()
    if (scope?.engine !== worker || scope.instance !== id) return
    throw new PerdureError("SELF_CALL", `instance "${id}" ${what}`, { details: { instance: id, step: scope.step } })
  }
}
