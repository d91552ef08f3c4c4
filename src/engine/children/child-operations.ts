import { decodeValue, encodeValue } from "../../core/values/value-codec.ts"
import type { DoAsk } from "../../core/execution/ask.ts"
import { PerdureError } from "../../core/errors.ts"
import type { ChildEffects, ChildStart } from "../../core/execution/child-handles.ts"
import { childIncarnation } from "../../core/workflow/child-id.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { ParentLink } from "../../core/journal/journal.ts"
import { decodeRow } from "../../core/journal/turn-codec.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import type { Store } from "../../ports/store.ts"
import type { InstanceControls } from "../instances/instance-controls.ts"
import { refuseDebounce } from "../flow-control/debouncer.ts"
import { holderOf, singletonExists } from "../flow-control/singletons.ts"
import { idExists } from "../instances/instance-errors.ts"
import type { InstanceStarter } from "../instances/instance-starter.ts"

/** What instances do to other instances. Each is the function of a step: done at least once, and made so that twice does no harm. */
export class ChildOperations {
  readonly #store: Store
  readonly #starter: InstanceStarter
  readonly #controls: InstanceControls

  constructor(store: Store, starter: InstanceStarter, controls: InstanceControls) {
    this.#store = store
    this.#starter = starter
    this.#controls = controls
  }

  /** What one run of a parent does to its children. */
  effectsOf({ identity, state }: Parent, run: number): ChildEffects {
    const { id: instance, incarnation, queue } = identity
    const startChild = (start: ChildStart) => async () => {
      const { step } = start
      const child = state.children.get(step)
      // Without it the child is over already: an attempt started it of which nobody heard.
      if (child) await this.#startChild(start, { instance, incarnation, run: child.run, step }, { run, queue })
    }
    const sendEvent = (to: string, type: string, payload: unknown) => this.#sendEvent(to, type, payload)
    const cancel = (to: string, reason: string | undefined) => async () => void (await this.#controls.control(to, "cancel", reason))
    return { startChild, sendEvent, cancel }
  }

  /** The parent gives the child its incarnation: a start that is tried again finds what the first did. */
  async #startChild({ child, workflow, input, options }: ChildStart, parent: ParentLink, { run, queue }: ParentRun): Promise<void> {
    const { onParentEnd: _, ...start } = options
    const { instance: id } = child.link
    const incarnation = childIncarnation(parent.incarnation, parent.run, parent.step)
    const within = { instance: parent.instance, incarnation: parent.incarnation, run }
    const startRequest = await this.#starter.prepare(workflow, { ...start, id, input: input.decode() }, { parent, within, incarnation, queue })
    refuseDebounce(startRequest, "be started as a child")
    const result = await this.#starter.create(startRequest)
    if (result === "committed") return
    if (result !== "lost") throw result.error
    const existing = await this.#store.directory.get(id)
    const holder = existing ? undefined : await holderOf(this.#starter.writeScope, startRequest.instance.flow)
    if (holder !== undefined) throw singletonExists(holder)
    if (existing === undefined) throw new PerdureError("STORE_FAILED", `child "${id}" was not started: its parent has ended, or its id became free too late`)
    if (existing.incarnation !== incarnation) throw idExists(id)
  }

  #sendEvent(instance: string, type: string, payload: unknown): DoAsk["fn"] {
    // Now, so that nothing that the code does to the value later is seen; and refused where the code can still catch it.
    const encoded = encodeValue(payload, { what: `event "${type}"` })
    return async ({ attempt, idempotencyKey: eventId }) => {
      // An attempt of which nobody heard may have sent it, and the instance may be over for that very reason, or in its next run.
      const isReceived = () => this.#hasReceived(instance, eventId)
      if (attempt > 1 && (await isReceived())) return
      try {
        await this.#controls.sendEvent(instance, type, decodeValue(encoded), { eventId })
      } catch (error) {
        if (attempt === 1 || !PerdureError.is(error, "INSTANCE_ENDED") || !(await isReceived())) throw error
      }
    }
  }

  /** Whether any run of the instance has an event with that id. */
  async #hasReceived(id: string, eventId: string): Promise<boolean> {
    const rows = await this.#store.journal.readJournal(id, 1)
    return rows.some((row) => decodeRow(row).some(({ entry }) => entry.type === "event.received" && entry.eventId === eventId))
  }
}

/** The instance whose children they are. */
interface Parent {
  readonly identity: NewInstance
  readonly state: InstanceState
}

/** The run that wants a child, and the task queue of its instance. */
interface ParentRun {
  readonly run: number
  readonly queue: string | undefined
}
