import { checkArguments } from "../../core/arguments/argument.ts"
import { handleArguments, otherHandleArguments } from "../../core/arguments/client-arguments.ts"
import type { Duration } from "../../core/time/duration.ts"
import { durationMs } from "../../core/time/duration.ts"
import { PerdureError, ResultTimeoutError } from "../../core/errors.ts"
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
import type { InstanceMethod } from "../objects/instance-rpc-methods.ts"
import { PolledChanges } from "./index-client.ts"

/** A call that waits for longer is made anew: none is kept open for ever. */
const waitMsMax = 25_000

/** One instance, as its object answers for it. */
export class ObjectHandle implements Handle<unknown, Record<string, unknown>> {
  readonly id: string
  readonly #calls: ObjectCalls

  static {
    checkArguments(this.prototype, handleArguments, otherHandleArguments)
  }

  constructor(calls: ObjectCalls, id: string) {
    this.#calls = calls
    this.id = id
  }

  async #call<T>(method: InstanceMethod, ...args: readonly unknown[]): Promise<T> {
    return (await this.#calls.call(this.id, method, args)) as T
  }

  async result({ timeout, signal, rejectWhenStalled }: ResultOptions = {}): Promise<unknown> {
    const timeoutMs = timeout === undefined ? undefined : durationMs(timeout satisfies Duration, "timeout")
    const until = timeoutMs === undefined ? Infinity : this.#calls.now() + timeoutMs
    for (;;) {
      if (signal?.aborted) throw signal.reason
      const leftMs = until - this.#calls.now()
      const waiting = this.#call<unknown>("result", Math.max(0, Math.min(leftMs, waitMsMax)), ...(rejectWhenStalled ? [true] : []))
      try {
        return await (signal ? Promise.race([waiting, aborted(signal)]) : waiting)
      } catch (error) {
        if (!PerdureError.is(error, "RESULT_TIMEOUT") || error.details["instance"] !== this.id) throw error
        if (timeoutMs !== undefined && this.#calls.now() >= until) throw new ResultTimeoutError(this.id, timeoutMs)
      }
    }
  }

  status(): Promise<Status> {
    return this.#call("status")
  }

  describe(): Promise<InstanceDescription> {
    return this.#call("describe")
  }

  steps(): Promise<readonly StepInfo[]> {
    return this.#call("steps")
  }

  history(options: HistoryOptions = {}): Promise<HistoryPage> {
    return this.#call("history", options)
  }

  why(): Promise<Why> {
    return this.#call("why")
  }

  async sendEvent(type: string, payload?: unknown, options: SendOptions = {}): Promise<void> {
    refuseTransaction(options.transaction)
    return this.#call("sendEvent", type, payload, options)
  }

  signal(type: string, payload?: unknown, options: SendOptions = {}): Promise<void> {
    return this.sendEvent(type, payload, options)
  }

  pause(reason?: string): Promise<ControlResult> {
    return this.#call("pause", reason)
  }

  resume(): Promise<ControlResult> {
    return this.#call("resume")
  }

  cancel(reason?: string): Promise<ControlResult> {
    return this.#call("cancel", reason)
  }

  terminate(options?: string | TerminateOptions): Promise<ControlResult> {
    return this.#call("terminate", options)
  }

  restart(options: RestartOptions = {}): Promise<ControlResult> {
    return this.#call("restart", options)
  }

  async fork(options: ForkOptions): Promise<Handle<unknown, Record<string, unknown>>> {
    return new ObjectHandle(this.#calls, await this.#call<string>("fork", options))
  }

  query<Answer = unknown>(name: string, ...args: readonly unknown[]): Promise<Answer> {
    return this.#call("query", name, args)
  }

  update<Answer = unknown>(name: string, ...args: readonly unknown[]): Promise<Answer> {
    return this.#call("update", name, args)
  }

  delete(): Promise<DeleteResult> {
    return this.#call("delete")
  }

  changes(cursor?: string): Changes {
    return new PolledChanges(cursor, (after) => this.#call("changes", after))
  }
}

/** How a client reaches the objects of instances. */
export interface ObjectCalls {
  now(): number
  call(id: string, method: InstanceMethod, args: readonly unknown[]): Promise<unknown>
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }))
}

/** It belongs to a connection of the caller's, which no object can write on. */
export function refuseTransaction(transaction: unknown): void {
  if (transaction === undefined) return
  throw new PerdureError("NO_TRANSACTIONS", "a transaction of yours does not reach a Durable Object; start the instance without it")
}
