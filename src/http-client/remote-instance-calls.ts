import { durationMs } from "../core/time/duration.ts"
import { PerdureError, ResultTimeoutError } from "../core/errors.ts"
import type { Status } from "../core/journal/status.ts"
import type { StepInfo } from "../core/journal/step-info.ts"
import type {
  Changes,
  ControlResult,
  DeleteResult,
  ForkOptions,
  HistoryOptions,
  HistoryPage,
  InstanceDescription,
  RestartOptions,
  ResultOptions,
  SendOptions,
  TerminateOptions,
  Why,
} from "../client-api/client-api.ts"
import type { InstanceCalls } from "../client-api/instance-calls.ts"
import { ChangeStreamConnection } from "./change-stream-connection.ts"
import { type HttpAnswer, valueIn } from "./response.ts"
import { sleep } from "./retry-pacing.ts"
import { randomId } from "./request-id.ts"
import type { Call, Transport } from "./transport.ts"
import { controlFrom, descriptionFrom, withoutUndefined, refuseTransaction } from "./wire-bodies.ts"

const waitMsMax = 30_000
/** How long the answer may take beyond the time that the server is asked to wait. */
const graceMs = 15_000
const pollMs = 500

/** The calls on an instance over HTTP. */
export class RemoteInstanceCalls implements InstanceCalls {
  protected readonly transport: Transport

  constructor(transport: Transport) {
    this.transport = transport
  }

  async describe(id: string): Promise<InstanceDescription> {
    return descriptionFrom((await this.#get(id)) as Parameters<typeof descriptionFrom>[0])
  }

  async history(id: string, options: HistoryOptions): Promise<HistoryPage> {
    return (await this.#get(id, "history", { ...options })) as HistoryPage
  }

  async why(id: string): Promise<Why> {
    return (await this.#get(id, "why")) as Why
  }

  async #get(id: string, what?: string, query?: Call["query"]): Promise<unknown> {
    const path = ["workflows", id, ...(what === undefined ? [] : [what])]
    return valueIn(await this.transport.exchange({ method: "GET", path, isRepeatable: true, ...(query ? { query } : undefined) }))
  }

  /** Repeats the request until there is a result. The server answers each request after a while. */
  async result(id: string, { timeout, signal, rejectWhenStalled = false }: ResultOptions): Promise<unknown> {
    const { pace, signal: closing } = this.transport
    const timeoutMs = timeout === undefined ? Infinity : durationMs(timeout, "timeout")
    const deadline = pace.now() + timeoutMs
    for (;;) {
      const askedAt = pace.now()
      const wait = Math.max(0, Math.min(waitMsMax, deadline - askedAt))
      const answer = await this.#ask(id, wait, rejectWhenStalled, signal).catch((error: unknown) => {
        if (PerdureError.is(error, "UNREACHABLE") && pace.now() >= deadline) throw new ResultTimeoutError(id, timeoutMs)
        throw error
      })
      if (answer.status !== 202) return valueIn(answer)
      const left = deadline - pace.now()
      if (left <= 0) throw new ResultTimeoutError(id, timeoutMs)
      // A server that is closing answers at once. This pause keeps the client from asking all the time.
      if (pace.now() - askedAt < pollMs) await sleep(pace, Math.min(pollMs, left), signal ? AbortSignal.any([closing, signal]) : closing)
    }
  }

  #ask(id: string, wait: number, rejectWhenStalled: boolean, signal: AbortSignal | undefined): Promise<HttpAnswer> {
    return this.transport.exchange({
      method: "GET",
      path: ["workflows", id, "result"],
      query: rejectWhenStalled ? { wait, rejectWhenStalled: "true" } : { wait },
      isRepeatable: true,
      timeoutMs: wait + graceMs,
      signal,
    })
  }

  async sendEvent(id: string, event: string, payload: unknown, { eventId = randomId(), transaction }: SendOptions): Promise<void> {
    refuseTransaction(transaction)
    const answer = await this.transport.exchange({
      method: "POST",
      path: ["workflows", id, "events", event],
      query: { eventId },
      body: payload,
      isRepeatable: true,
    })
    await this.requireSent(id, eventId, answer)
  }

  /** Throws the error of an answer, unless a repeated request finds that the event was received by the first one, before the instance ended. */
  protected async requireSent(id: string, eventId: string, answer: HttpAnswer): Promise<void> {
    if (answer.isRepeat && answer.error?.code === "INSTANCE_ENDED" && (await this.#hasReceived(id, eventId))) return
    valueIn(answer)
  }

  async #hasReceived(id: string, eventId: string): Promise<boolean> {
    for (let cursor: string | undefined; ;) {
      const page = await this.history(id, { limit: 1_000, ...(cursor === undefined ? undefined : { cursor }) })
      if (page.entries.some(({ type, data }) => type === "event.received" && data["eventId"] === eventId)) return true
      if (page.cursor === undefined) return false
      cursor = page.cursor
    }
  }

  pause(id: string, reason: string | undefined): Promise<ControlResult> {
    return this.#control(id, "pause", { reason }, ({ status, phase }) => status === "paused" || phase === "pausing")
  }

  resume(id: string): Promise<ControlResult> {
    return this.#control(id, "resume", {}, ({ status }) => status !== "paused" && status !== "stalled")
  }

  cancel(id: string, reason: string | undefined): Promise<ControlResult> {
    return this.#control(id, "cancel", { reason }, ({ status, phase }) => status === "cancelled" || phase === "cancelling" || phase === "rollingBack")
  }

  terminate(id: string, options: TerminateOptions): Promise<ControlResult> {
    return this.#control(id, "terminate", options, ({ status, phase }) => status === "terminated" || phase === "rollingBack")
  }

  /** The request is not sent again, because each request begins a run. */
  restart(id: string, options: RestartOptions): Promise<ControlResult> {
    return this.#control(id, "restart", options, undefined)
  }

  async fork(id: string, { input, ...options }: ForkOptions): Promise<string> {
    const body = withoutUndefined({ requestId: randomId(), ...options, payload: input })
    const answer = await this.transport.exchange({ method: "POST", path: ["workflows", id, "fork"], body, isRepeatable: true })
    return (valueIn(answer) as { readonly id: string }).id
  }

  async query(id: string, name: string, args: readonly unknown[]): Promise<unknown> {
    return valueIn(await this.transport.exchange({ method: "POST", path: ["workflows", id, "queries", name], body: args, isRepeatable: true }))
  }

  async update(id: string, name: string, args: readonly unknown[]): Promise<unknown> {
    const answer = await this.transport.exchange({ method: "POST", path: ["workflows", id, "updates", name], body: args, isRepeatable: false })
    if (answer.status !== 202) return valueIn(answer)
    const { status } = valueIn(answer) as { readonly status: Status }
    throw this.transport.noAnswer(`update "${name}" is kept, but instance "${id}", which is ${status}, has not answered it yet; do not send it again`)
  }

  async delete(id: string): Promise<DeleteResult> {
    const answer = await this.transport.exchange({ method: "DELETE", path: ["workflows", id], isRepeatable: true })
    if (answer.isRepeat && answer.error?.code === "NOT_FOUND") return { stillListed: false }
    valueIn(answer)
    return { stillListed: answer.status === 202 }
  }

  async status(id: string): Promise<Status> {
    return (await this.describe(id)).status
  }

  async steps(id: string): Promise<readonly StepInfo[]> {
    return (await this.describe(id)).steps
  }

  changes(id: string | undefined, cursor: string | undefined): Changes {
    return new ChangeStreamConnection(this.transport, id === undefined ? ["stream"] : ["workflows", id, "stream"], cursor)
  }

  /** `isDone` recognises the state that a repeated request finds if the first request took effect. Without `isDone` the request is not repeated. */
  async #control(id: string, what: string, options: object, isDone: ((result: ControlResult) => boolean) | undefined): Promise<ControlResult> {
    const answer = await this.transport.exchange({
      method: "POST",
      path: ["workflows", id, what],
      body: withoutUndefined(options),
      isRepeatable: isDone !== undefined,
    })
    const isRefused = answer.error?.code === "CONTROL_REFUSED"
    const result = isRefused ? (answer.error?.details as unknown as ControlResult) : controlFrom(valueIn(answer) as Parameters<typeof controlFrom>[0])
    if (result.accepted || !answer.isRepeat || isDone?.(result) !== true) return result
    const { reason: _, ...rest } = result
    return { ...rest, accepted: true }
  }
}
