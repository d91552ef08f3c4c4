import { Payload } from "../../core/values/value-codec.ts"
import { isControl } from "../../core/journal/control-message.ts"
import { matchForEvent } from "../../core/journal/event-matching.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { isUndoing } from "../../core/journal/run-deadline.ts"
import type { SensitiveData } from "../../core/workflow/workflow.ts"
import type { Message, NewMessage } from "../../ports/journal-store.ts"
import { cancelledByParent, type ChildEnding } from "../children/ending-messages.ts"
import type { ReleaseQueue } from "./release-queue.ts"
import type { TurnWriter } from "./turn-writer.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/** Turns messages from the inbox into entries. Each is consumed by the turn that holds what became of it. */
export class MessageHandler {
  /** Of the newest message that was handed over. */
  inboxSeen = 0
  readonly #state: InstanceState
  readonly #writer: TurnWriter
  readonly #releaseQueue: ReleaseQueue
  readonly #runner: InstanceRunner
  /** Events that came while nothing is released to the code: on resume they go before whatever came later. */
  #deferred: IncomingMessage[] | undefined = undefined

  constructor(state: InstanceState, writer: TurnWriter, releaseQueue: ReleaseQueue, runner: InstanceRunner) {
    this.#releaseQueue = releaseQueue
    this.#state = state
    this.#writer = writer
    this.#runner = runner
  }

  /** `closed`: a paused or stalled instance takes in nothing but controls; events stay in the inbox. */
  handle(message: IncomingMessage, isGated: boolean): void {
    if (!isControl(message.kind) && isGated) return void (this.#deferred ??= []).push(message)
    if (message.seq !== undefined) this.#writer.draft.consume(message.seq)
    const ignored = ignoreReason(message, this.#state)
    const reason = message.topic === undefined ? undefined : { reason: message.topic }
    if (ignored !== undefined) return void this.#runner.record({ type: "message.ignored", kind: message.kind, reason: ignored })
    switch (message.kind) {
      case "event":
        return this.handleEvent(message)
      case "child":
        return this.#handleChildEnding(message)
      case "update":
        return this.#handleUpdate(message)
      case "pause":
        return void this.#runner.record({ type: "paused", ...reason })
      case "terminate":
        this.#runner.completion.terminate(message.topic, message.payload !== undefined)
        return this.#resume()
      case "cancel":
        if (this.#state.stalled) return this.#runner.completion.cancelStalled({ type: "cancel.requested", cause: "request", ...reason })
        this.#runner.completion.cancel({ type: "cancel.requested", cause: "request", ...reason })
        return this.#resume()
      case "resume":
        this.#runner.record({ type: "resumed" })
        return this.#resume()
    }
  }

  get #sensitive(): SensitiveData {
    return this.#runner.workflow.options.sensitive ?? {}
  }

  #resume(): void {
    const deferred = this.#deferred ?? []
    this.#deferred = undefined
    this.#runner.resume(deferred)
  }

  #handleChildEnding({ topic = "", payload = "{}" }: IncomingMessage): void {
    const { workflow, status, value, sensitive, reason } = JSON.parse(payload) as ChildEnding
    const instance = this.#state.children.get(topic)?.instance ?? ""
    this.#runner.record({
      type: "child.ended",
      id: topic,
      instance,
      ...(workflow === undefined ? undefined : { workflow }),
      status,
      value: this.#writer.payloadOf(value, sensitive),
      ...(reason === undefined ? undefined : { reason }),
    })
  }

  /** One that the code refuses is answered, and never accepted. */
  #handleUpdate({ topic = "", payload = "", eventId = "" }: IncomingMessage): void {
    const value = this.#writer.payloadOf(payload, this.#sensitive.updates?.includes(topic))
    const { queryUpdateResponder } = this.#runner
    const refusal = queryUpdateResponder.refuseUpdate(topic, value)
    if (refusal === undefined) this.#runner.record({ type: "update.accepted", update: eventId, name: topic, value })
    else queryUpdateResponder.answer({ type: "update.failed", update: eventId, value: Payload.ofError(refusal.error, value.isSensitive) })
  }

  /** Also one that comes without a detour through the inbox. */
  handleEvent({ topic = "", payload = "", eventId }: NewMessage): void {
    const id = eventId === undefined ? undefined : { eventId }
    const { position } = this.#runner.record({
      type: "event.received",
      event: topic,
      value: this.#writer.payloadOf(payload, this.#sensitive.events?.includes(topic)),
      ...id,
    })
    const match = matchForEvent(this.#state, topic, position, this.#releaseQueue.execution)
    if (match?.type === "wait.completed") this.#runner.settle(match)
    else if (match) this.#runner.record(match)
  }
}

/** A message from the inbox; without a `seq`, what the engine found out itself, and finds out again if this is lost. */
export type IncomingMessage = NewMessage & Partial<Pick<Message, "seq">>

/** Why a message changes nothing, in the words that the journal keeps; undefined: it takes effect. */
function ignoreReason(message: IncomingMessage, state: InstanceState): string | undefined {
  switch (message.kind) {
    case "event":
      return message.eventId !== undefined && state.hasEventId(message.eventId) ? `event id "${message.eventId}" was received already` : undefined
    case "child":
      return isAwaited(message, state) ? undefined : "no step of this run waits for that child"
    case "update":
      return undefined
    case "terminate":
      return message.payload !== undefined && isUndoing(state) ? "it is being rolled back already" : undefined
    case "pause":
      if (state.stalled) return "it is stalled"
      if (isUndoing(state)) return "it is being rolled back"
      if (state.cancel) return "it is being cancelled"
      return state.paused ? "it is paused already" : undefined
    case "resume":
      return state.paused || state.stalled ? undefined : "it is neither paused nor stalled"
    case "cancel":
      if (state.stalled) return message.payload === cancelledByParent ? undefined : "it is stalled: terminate it, or resume it first"
      if (isUndoing(state)) return "it is being rolled back already"
      return state.cancel ? "it is being cancelled already" : undefined
  }
}

function isAwaited({ topic = "", payload = "{}" }: IncomingMessage, state: InstanceState): boolean {
  const ending = JSON.parse(payload) as ChildEnding
  return state.children.get(topic)?.run === ending.run
}
