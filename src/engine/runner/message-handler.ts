import { Payload } from "../../core/values/value-codec.ts"
import type { TaskEndingPayload } from "../../core/journal/task-ending.ts"
import { isControl } from "../../core/journal/control-message.ts"
import { matchForEvent } from "../../core/journal/event-matching.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { isUnwinding } from "../../core/journal/run-deadline.ts"
import type { SensitiveData } from "../../core/workflow/workflow.ts"
import type { Message, NewMessage } from "../../ports/journal-store.ts"
import { cancelledByParent, type ChildEnding } from "../children/ending-messages.ts"
import type { TaskEnd } from "../tasks/task-attempts.ts"
import type { ReleaseQueue } from "./release-queue.ts"
import type { TurnWriter } from "./turn-writer.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/** Turns messages into entries. The turn that records what a message did also consumes it, so no message is lost or handled twice. */
export class MessageHandler {
  /** The `seq` of the newest message that the runner has received. */
  inboxSeen = 0
  readonly #state: InstanceState
  readonly #writer: TurnWriter
  readonly #releaseQueue: ReleaseQueue
  readonly #runner: InstanceRunner
  /** Messages that arrived while nothing was released to the code. On resume they come before all later messages. */
  #deferred: IncomingMessage[] | undefined = undefined

  constructor(state: InstanceState, writer: TurnWriter, releaseQueue: ReleaseQueue, runner: InstanceRunner) {
    this.#releaseQueue = releaseQueue
    this.#state = state
    this.#writer = writer
    this.#runner = runner
  }

  /** `isGated`: a paused or stalled instance handles only controls. Other messages stay in the inbox. */
  handle(message: IncomingMessage, isGated: boolean): void {
    if (!isControl(message.kind) && isGated) return void (this.#deferred ??= []).push(message)
    // Decoded before the message is consumed: if a codec fails, the instance stalls, and the message is still there after a resume.
    const taskEnd = message.kind === "activity" ? this.#taskEndOf(message) : undefined
    if (message.seq !== undefined) this.#writer.draft.consume(message.seq)
    const ignored = message.kind === "activity" && !taskEnd ? "no step of this run waits for that task" : ignoreReason(message, this.#state)
    const reason = message.topic === undefined ? undefined : { reason: message.topic }
    if (ignored !== undefined) return void this.#runner.record({ type: "message.ignored", kind: message.kind, reason: ignored })
    switch (message.kind) {
      case "event":
        return this.handleEvent(message)
      case "child":
        return this.#handleChildEnding(message)
      case "activity":
        return taskEnd && this.#runner.tasks.handleEnd(message.topic ?? "", taskEnd)
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

  /** Undefined: the attempt was given up after its end was on its way. */
  #taskEndOf({ topic = "", eventId = "", payload = "{}" }: IncomingMessage): TaskEnd | undefined {
    if (!this.#state.hasTasks || !this.#runner.tasks.awaits(topic, eventId)) return undefined
    return this.#runner.tasks.read(JSON.parse(payload) as TaskEndingPayload)
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

  /** An update that the code refuses is answered at once, and is not accepted. */
  #handleUpdate({ topic = "", payload = "", eventId = "" }: IncomingMessage): void {
    const value = this.#writer.payloadOf(payload, this.#sensitive.updates?.includes(topic))
    const { queryUpdateResponder } = this.#runner
    const refusal = queryUpdateResponder.refuseUpdate(topic, value)
    if (refusal === undefined) this.#runner.record({ type: "update.accepted", update: eventId, name: topic, value })
    else queryUpdateResponder.answer({ type: "update.failed", update: eventId, value: Payload.ofError(refusal.error, value.isSensitive) })
  }

  /** Also handles an event that was sent directly, without the inbox. */
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

/** A message from the inbox. Without a `seq` the engine made the message itself, and makes it again after a load. */
export type IncomingMessage = NewMessage & Partial<Pick<Message, "seq">>

/** Why a message has no effect, as the journal records it; undefined: it has an effect. */
function ignoreReason(message: IncomingMessage, state: InstanceState): string | undefined {
  switch (message.kind) {
    case "event":
      return message.eventId !== undefined && state.hasEventId(message.eventId) ? `event id "${message.eventId}" was received already` : undefined
    case "child":
      return isAwaited(message, state) ? undefined : "no step of this run waits for that child"
    case "update":
      return undefined
    case "activity":
      return undefined
    case "terminate":
      return message.payload !== undefined && isUnwinding(state) ? "it is being rolled back already" : undefined
    case "pause":
      if (state.stalled) return "it is stalled"
      if (isUnwinding(state)) return "it is being rolled back"
      if (state.cancel) return "it is being cancelled"
      return state.paused ? "it is paused already" : undefined
    case "resume":
      return state.paused || state.stalled ? undefined : "it is neither paused nor stalled"
    case "cancel":
      if (state.stalled) return message.payload === cancelledByParent ? undefined : "it is stalled: terminate it, or resume it first"
      if (isUnwinding(state)) return "it is being rolled back already"
      return state.cancel ? "it is being cancelled already" : undefined
  }
}

function isAwaited({ topic = "", payload = "{}" }: IncomingMessage, state: InstanceState): boolean {
  const ending = JSON.parse(payload) as ChildEnding
  return state.children.get(topic)?.run === ending.run
}
