import type { FlowControl, FlowTraits, LimitOverride, LimitState, LimitWait, UniqueUse } from "../../ports/flow-control.ts"
import { uniqueKeyUse } from "../../stores/shared/flow-rows.ts"
import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { SlotRequester } from "./slot-requester.ts"

export interface ObjectFlowControlOptions {
  /** Flow control in the object's own database. */
  readonly local: FlowControl
  readonly ownId: () => string | undefined
  readonly network: ObjectNetwork
  readonly slots: Pick<SlotRequester, "waitOf">
  readonly afterWrite: () => void
}

/** Flow control of an object's instance. The object's database has the state of the instance; the objects of the limit keys have the slots and the queues. */
export class ObjectFlowControl implements FlowControl {
  readonly #options: ObjectFlowControlOptions

  constructor(options: ObjectFlowControlOptions) {
    this.#options = options
  }

  /** Does nothing: the object of each limit key reads the declared numbers from its own copy of the code. */
  async declare(): Promise<void> {}

  limitsOf(workflow: string): Promise<readonly LimitState[]> {
    return this.#options.network.limitSettings(workflow).limitsGet(workflow)
  }

  override(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown"> {
    return this.#options.network.limitSettings(workflow).limitsSet(workflow, changes)
  }

  holder(unique: UniqueUse): Promise<string | undefined> {
    return this.#options.network.limit(uniqueKeyUse(unique).key).slotHolder()
  }

  async waitOf(id: string): Promise<LimitWait | undefined> {
    const wait = this.#options.ownId() === id ? await this.#options.slots.waitOf() : undefined
    if (wait?.answer.state !== "waiting") return undefined
    const { state: _, ...rest } = wait.answer
    return { use: wait.ask.use, ...rest }
  }

  async assign(id: string, incarnation: string, traits: Pick<FlowTraits, "priority" | "limits">, deadlineAt?: number): Promise<boolean> {
    const isThere = await this.#options.local.assign(id, incarnation, traits, deadlineAt)
    this.#options.afterWrite()
    return isThere
  }

  onAdmitted(listener: (ids: readonly string[]) => void): () => void {
    return this.#options.local.onAdmitted(listener)
  }
}
