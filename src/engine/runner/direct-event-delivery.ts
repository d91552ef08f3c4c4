import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { Delivery } from "../../ports/directory.ts"
import type { NewMessage } from "../../ports/journal-store.ts"
import type { CommitResult } from "../worker/group-committer.ts"
import type { MessageHandler } from "./message-handler.ts"
import type { TurnWriter } from "./turn-writer.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/**
 * Records events directly in the journal of an instance that is in memory and at rest: one commit instead of two. Events in the inbox were acknowledged
 * before, so they have to come first. The turn is therefore lost if the inbox has a message that the runner has not seen (`inboxSeen`).
 */
export class DirectEventDelivery {
  /** The last send of those in progress. It settles when its event is recorded, or is on its way to the inbox. */
  #lastSend: Promise<unknown> | undefined = undefined
  readonly #state: InstanceState
  readonly #writer: TurnWriter
  readonly #messageHandler: MessageHandler
  readonly #runner: InstanceRunner

  constructor(state: InstanceState, writer: TurnWriter, messageHandler: MessageHandler, runner: InstanceRunner) {
    this.#state = state
    this.#writer = writer
    this.#messageHandler = messageHandler
    this.#runner = runner
  }

  /**
   * Records the event directly if the instance is at rest and no other send is in progress. Otherwise `deliver` puts the event into the inbox, in the order
   * of the calls. `isFirst`: no event is on its way to the inbox. If it throws, it is not known whether the event was written.
   */
  async send(event: NewMessage, isFirst: boolean, deliver: () => Promise<Delivery>): Promise<Delivery | "recorded"> {
    const previous = this.#lastSend
    // An object, not a promise: the next send waits until this delivery has begun, and not until the inbox is written.
    const beginDelivery = () => ({ delivery: deliver() })
    const sending = previous ? previous.then(beginDelivery, beginDelivery) : this.#sendFirst(event, isFirst, beginDelivery)
    this.#lastSend = sending
    try {
      const sent = await sending
      return sent === "recorded" ? sent : await sent.delivery
    } finally {
      if (this.#lastSend === sending) this.#lastSend = undefined
    }
  }

  async #sendFirst<T>(event: NewMessage, isFirst: boolean, beginDelivery: () => T): Promise<T | "recorded"> {
    return isFirst && (await this.#tryRecord(event)) ? "recorded" : beginDelivery()
  }

  /** False: the event was not recorded, and has to go through the inbox. */
  async #tryRecord(event: NewMessage): Promise<boolean> {
    if (!this.#runner.acceptsDirectEvents) return false
    if (event.eventId !== undefined && this.#state.hasEventId(event.eventId)) return true
    const { draft } = this.#writer
    draft.inboxSeen = this.#messageHandler.inboxSeen
    const result = new Promise<CommitResult>((resolve) => (draft.onResult = resolve))
    this.#messageHandler.handleEvent(event)
    this.#runner.pump()
    const outcome = await result
    if (typeof outcome === "object" && !outcome.unsent) throw outcome.error
    return outcome === "committed"
  }
}
