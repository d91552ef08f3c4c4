import type { FlowControl, FlowTraits, LimitOverride, LimitState, LimitWait, UniqueUse } from "../../ports/flow-control.ts"
import { uniqueKeyUse } from "../../stores/shared/flow-rows.ts"
import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { SlotRequester } from "./slot-requester.ts"

export interface ObjectFlowControlOptions {
  /** In the object's own database. */
  readonly local: FlowControl
  readonly own: () => string | undefined
  readonly network: ObjectNetwork
  readonly permits: SlotRequester
  readonly onWritten: () => void
}

/** Flow control of an object's instance: it knows its own place, and its keys know theirs. */
export class ObjectFlowControl implements FlowControl {
  readonly #parts: ObjectFlowControlOptions

  constructor(parts: ObjectFlowControlOptions) {
    this.#parts = parts
  }

  /** Each key goes by the code that it has itself. */
  async declare(): Promise<void> {}

  limitsOf(workflow: string): Promise<readonly LimitState[]> {
    return this.#parts.network.limitSettings(workflow).limitsGet(workflow)
  }

  override(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown"> {
    return this.#parts.network.limitSettings(workflow).limitsSet(workflow, changes)
  }

  holder(unique: UniqueUse): Promise<string | undefined> {
    return this.#parts.network.limit(uniqueKeyUse(unique).key).slotHolder()
  }

  async waitOf(id: string): Promise<LimitWait | undefined> {
    const wait = this.#parts.own() === id ? await this.#parts.permits.waitOf() : undefined
    if (wait?.answer.state !== "waiting") return undefined
    const { state: _, ...rest } = wait.answer
    return { use: wait.ask.use, ...rest }
  }

  async assign(id: string, incarnation: string, traits: Pick<FlowTraits, "priority" | "limits">, deadlineAt?: number): Promise<boolean> {
    const isThere = await this.#parts.local.assign(id, incarnation, traits, deadlineAt)
    this.#parts.onWritten()
    return isThere
  }

  onAdmitted(listener: (ids: readonly string[]) => void): () => void {
    return this.#parts.local.onAdmitted(listener)
  }
}
