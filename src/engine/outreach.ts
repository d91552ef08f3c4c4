import { decodeValue, encodeValue } from "../core/codec.ts"
import type { DoAsk } from "../core/ask.ts"
import { PerdureError } from "../core/errors.ts"
import { childIncarnation } from "../core/idempotency-key.ts"
import type { ParentLink } from "../core/journal.ts"
import type { ChildStart } from "../core/workflow-context.ts"
import type { Controls } from "./controls.ts"
import type { Starter } from "./starter.ts"

/** What instances do to other instances. Each is the function of a step: done at least once, and made so that twice does no harm. */
export class Outreach {
  readonly #starter: Starter
  readonly #controls: Controls

  constructor(starter: Starter, controls: Controls) {
    this.#starter = starter
    this.#controls = controls
  }

  async startChild({ child, workflow, input, options }: ChildStart, parent: ParentLink, { run, queue }: ChildOrigin): Promise<void> {
    const { onParentEnd: _, ...start } = options
    const { instance, incarnation } = parent
    await this.#starter.startChild(
      workflow,
      { ...start, id: child.link.instance, input: input.decode() },
      { parent, within: { instance, incarnation, run }, incarnation: childIncarnation(incarnation, parent.run, parent.step), queue },
    )
  }

  sendEvent(instance: string, type: string, payload: unknown): DoAsk["fn"] {
    // Now, so that nothing that the code does to the value later is seen; and refused where the code can still catch it.
    const encoded = encodeValue(payload, { what: `event "${type}"` })
    return async ({ attempt, idempotencyKey: eventId }) => {
      // An attempt of which nobody heard may have sent it, and the instance may be over for that very reason, or in its next run.
      const isReceived = () => this.#controls.hasReceived(instance, eventId)
      if (attempt > 1 && (await isReceived())) return
      try {
        await this.#controls.sendEvent(instance, type, decodeValue(encoded), { eventId })
      } catch (error) {
        if (attempt === 1 || !PerdureError.is(error, "INSTANCE_ENDED") || !(await isReceived())) throw error
      }
    }
  }

  cancel(instance: string, reason: string | undefined): DoAsk["fn"] {
    return async () => {
      await this.#controls.control(instance, "cancel", reason)
    }
  }
}

/** The run that wants a child, and the task queue of its instance. */
interface ChildOrigin {
  readonly run: number
  readonly queue: string | undefined
}
