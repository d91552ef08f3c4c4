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

/** The operations of instances on other instances. Each runs as the function of a step: at least once, so each is safe to repeat. */
export class ChildOperations {
  readonly #store: Store
  readonly #starter: InstanceStarter
  readonly #controls: InstanceControls

  constructor(store: Store, starter: InstanceStarter, controls: InstanceControls) {
    this.#store = store
    this.#starter = starter
    this.#controls = controls
  }

  /** The operations for one run of a parent. */
  effectsOf({ identity, state }: Parent, run: number): ChildEffects {
    const { id: instance, incarnation, queue } = identity
    const startChild = (start: ChildStart) => async () => {
      const { step } = start
      const child = state.children.get(step)
      // Without an entry here the child has ended already: an earlier attempt started it, and its answer was lost.
      if (child) await this.#startChild(start, { instance, incarnation, run: child.run, step }, { run, queue })
    }
    const sendEvent = (to: string, type: string, payload: unknown) => this.#sendEvent(to, type, payload)
    const cancel = (to: string, reason: string | undefined) => async () => void (await this.#controls.control(to, "cancel", reason))
    return { startChild, sendEvent, cancel }
  }

  /** The incarnation of the child is computed from its parent, so a start that is tried again recognises the child that the first start made. */
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
    // Encoded now, so that later changes to the value have no effect, and so that the code can catch the error of a value that cannot be encoded.
    const encoded = encodeValue(payload, { what: `event "${type}"` })
    return async ({ attempt, idempotencyKey: eventId }) => {
      // An earlier attempt may have sent the event although its answer was lost. The instance may have ended because of that event, or be in its next run.
      const isReceived = () => this.#hasReceived(instance, eventId)
      if (attempt > 1 && (await isReceived())) return
      try {
        await this.#controls.sendEvent(instance, type, decodeValue(encoded), { eventId })
      } catch (error) {
        if (attempt === 1 || !PerdureError.is(error, "INSTANCE_ENDED") || !(await isReceived())) throw error
      }
    }
  }

  /** True: a run of the instance has received an event with this id. */
  async #hasReceived(id: string, eventId: string): Promise<boolean> {
    const rows = await this.#store.journal.readJournal(id, 1)
    return rows.some((row) => decodeRow(row).some(({ entry }) => entry.type === "event.received" && entry.eventId === eventId))
  }
}

/** The parent instance. */
interface Parent {
  readonly identity: NewInstance
  readonly state: InstanceState
}

/** The run that starts a child, and the task queue of its instance. */
interface ParentRun {
  readonly run: number
  readonly queue: string | undefined
}
