import type { Entry } from "../../core/journal/journal.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { FlowControl, FlowTraits } from "../../ports/flow-control.ts"
import type { Host } from "../../ports/host.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import { declaredLimits, flowTraits, hasLimits } from "./flow-keys.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import type { Timers } from "../worker/timers.ts"

const retryMs = 1_000

/** What a worker tells the store about the limits of its workflows. */
export class LimitDeclarations {
  readonly #flow: FlowControl
  readonly #registry: WorkflowRegistry
  readonly #host: Host
  readonly #timers: Timers

  constructor(flow: FlowControl, registry: WorkflowRegistry, host: Host, timers: Timers) {
    this.#flow = flow
    this.#registry = registry
    this.#host = host
    this.#timers = timers
  }

  /** Until it is known what the code says, what was known before counts, or what it said when an instance was started. */
  async declare(): Promise<void> {
    try {
      await this.#flow.declare(declaredLimits(this.#registry))
    } catch (error) {
      this.#host.log.error("the limits of workflows could not be written; trying again", { error })
      this.#timers.after(retryMs, () => void this.declare())
    }
  }

  /** It was started by somebody who does not know its workflow, or before that had limits. */
  lacksLimits({ status, slots }: InstanceRow, workflow: AnyWorkflow): boolean {
    return status === "queued" && slots === undefined && hasLimits(workflow)
  }

  /** True: it has its limits now, and is to be claimed with them. */
  async assign(workflow: AnyWorkflow, { id, incarnation, flow }: InstanceRow, first: Entry | undefined): Promise<boolean> {
    if (first?.type !== "run.started") return false
    let traits: FlowTraits | undefined
    try {
      traits = flowTraits(workflow, first.value.decode(), flow?.priority)
    } catch (error) {
      this.#host.log.error(`the limits of instance "${id}" could not be worked out; it goes on without any`, { instance: id, error })
    }
    return traits !== undefined && this.#flow.assign(id, incarnation, traits, first.timeoutAt)
  }
}
