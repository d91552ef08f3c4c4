import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { Delivery } from "../../ports/directory.ts"
import type { NewMessage } from "../../ports/journal-store.ts"
import type { CommitResult } from "../worker/group-committer.ts"
import type { MessageHandler } from "./message-handler.ts"
import type { TurnWriter } from "./turn-writer.ts"
import type { InstanceRunner } from "./instance-runner.ts"

/**
 * Events that find an instance in memory and at rest go straight into its journal: one commit instead of two. Those in its inbox
 * were acknowledged before, so the turn is guarded: it is lost if there are any that it has not seen.
 */
export class DirectEventDelivery {
  /** Of those who are sending, the last: it settles when its event is taken, or is on its way to the inbox. */
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
   * Straight to the instance where it is at rest and nobody is before us; else `deliver` puts it into the inbox, in the order of
   * the calls. `isFirst`: no event is on its way to the inbox. An error: nothing is known of it.
   */
  async send(event: NewMessage, isFirst: boolean, deliver: () => Promise<Delivery>): Promise<Delivery | "taken"> {
    const before = this.#lastSend
    // Not flattened: who comes next does not wait for the inbox to be written.
    const onItsWay = () => ({ delivery: deliver() })
    const sending = before ? before.then(onItsWay, onItsWay) : this.#sendFirst(event, isFirst, onItsWay)
    this.#lastSend = sending
    try {
      const sent = await sending
      return sent === "taken" ? sent : await sent.delivery
    } finally {
      if (this.#lastSend === sending) this.#lastSend = undefined
    }
  }

  async #sendFirst<T>(event: NewMessage, isFirst: boolean, onItsWay: () => T): Promise<T | "taken"> {
    return isFirst && (await this.#tryRecord(event)) ? "taken" : onItsWay()
  }

  /** False: it was not taken, and has to go through the inbox. */
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
