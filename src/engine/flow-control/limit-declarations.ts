import type { Entry } from "../../core/journal/journal.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { FlowControl, FlowTraits } from "../../ports/flow-control.ts"
import type { Host } from "../../ports/host.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import { declaredLimits, flowTraits, hasLimits } from "./flow-keys.ts"
import type { WorkflowRegistry } from "../workflow-registry.ts"
import type { Timers } from "../worker/timers.ts"

const retryMs = 1_000

/** Declares the limits of a worker's workflows in the store, and assigns limits to instances that were started without them. */
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

  /** Writes the declared limits. Until that succeeds, the limits that the store has count, or those that an instance was started with. */
  async declare(): Promise<void> {
    try {
      await this.#flow.declare(declaredLimits(this.#registry))
    } catch (error) {
      this.#host.log.error("the limits of workflows could not be written; trying again", { error })
      this.#timers.after(retryMs, () => void this.declare())
    }
  }

  /** True if the process that started the instance did not know its workflow, or if the workflow had no limits then. */
  lacksLimits({ status, slots }: InstanceRow, workflow: AnyWorkflow): boolean {
    return status === "queued" && slots === undefined && hasLimits(workflow)
  }

  /** Returns true if the instance has its limits now. A worker then claims it again, when it has its slots. */
  async assign(workflow: AnyWorkflow, { id, incarnation, flow }: InstanceRow, first: Entry | undefined): Promise<boolean> {
    if (first?.type !== "run.started") return false
    let traits: FlowTraits | undefined
    try {
      traits = flowTraits(workflow, first.value.decode(), flow?.priority)
    } catch (error) {
      this.#host.log.error(`the limits of instance "${id}" could not be computed; it goes on without any`, { instance: id, error })
    }
    return traits !== undefined && this.#flow.assign(id, incarnation, traits, first.timeoutAt)
  }
}
