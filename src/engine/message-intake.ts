import { Payload } from "../core/codec.ts"
import type { InstanceState } from "../core/instance-state.ts"
import type { EntryOf, Recorded } from "../core/journal.ts"
import type { Message } from "../ports/journal-store.ts"
import type { TurnWriter } from "./turn-writer.ts"

/** Turns messages from the inbox into entries. Each is consumed by the turn that holds what became of it. */
export class MessageIntake {
  /** Of the newest message that was handed over. */
  seen = 0
  readonly #state: InstanceState
  readonly #writer: TurnWriter
  readonly #driver: IntakeDriver
  /** Events that came while nothing is released to the code: on resume they go before whatever came later. */
  #held: Message[] = []

  constructor(state: InstanceState, writer: TurnWriter, driver: IntakeDriver) {
    this.#state = state
    this.#writer = writer
    this.#driver = driver
  }

  /** `closed`: a paused or stalled instance takes in nothing but controls; events stay in the inbox. */
  take(message: Message, closed: boolean): void {
    if (message.kind === "event" && closed) return void this.#held.push(message)
    this.#writer.draft.consume(message.seq)
    const ignored = ignoreReason(message, this.#state)
    const reason = message.topic === undefined ? undefined : { reason: message.topic }
    if (ignored !== undefined) this.#driver.record({ type: "message.ignored", kind: message.kind, reason: ignored })
    else if (message.kind === "event") this.#takeEvent(message)
    else if (message.kind === "pause") this.#driver.record({ type: "paused", ...reason })
    else {
      if (message.kind === "cancel") this.#driver.cancel({ type: "cancel.requested", cause: "request", ...reason })
      else this.#driver.record({ type: "resumed" })
      const held = this.#held
      this.#held = []
      this.#driver.resume(held)
    }
  }

  #takeEvent({ topic = "", payload = "", eventId }: Message): void {
    const id = eventId === undefined ? undefined : { eventId }
    const { position } = this.#driver.record({ type: "event.received", event: topic, value: Payload.of(payload), ...id })
    const wait = this.#state.openWait(topic)
    if (wait) this.#driver.settle({ type: "wait.completed", id: wait.id, from: position })
  }
}

/** The runner of the instance, as its intake sees it. */
export interface IntakeDriver {
  record(entry: EntryOf<"message.ignored" | "paused" | "resumed" | "event.received">): Recorded
  settle(entry: EntryOf<"wait.completed">): void
  cancel(entry: EntryOf<"cancel.requested">): void
  /** What was held back may begin; these messages go before all other inputs. */
  resume(messages: readonly Message[]): void
}

/** Why a message changes nothing, in the words that the journal keeps; undefined: it takes effect. */
function ignoreReason(message: Message, state: InstanceState): string | undefined {
  switch (message.kind) {
    case "event":
      return message.eventId !== undefined && state.hasEventId(message.eventId) ? `event id "${message.eventId}" was received already` : undefined
    case "pause":
      if (state.stalled) return "it is stalled"
      if (state.cancel) return "it is being cancelled"
      return state.paused ? "it is paused already" : undefined
    case "resume":
      return state.paused || state.stalled ? undefined : "it is neither paused nor stalled"
    case "cancel":
      if (state.stalled) return "it is stalled: terminate it, or resume it first"
      return state.cancel ? "it is being cancelled already" : undefined
  }
}
