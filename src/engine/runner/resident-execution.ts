import { PerdureError } from "../../core/errors.ts"
import type { ExecutionEnvironment } from "../../core/execution/execution-environment.ts"
import type { InstanceInfo, WorkflowLog } from "../../core/workflow/context.ts"
import type { ChildEffects } from "../../core/execution/child-handles.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import { seedOf } from "../../core/journal/run-history.ts"
import type { Limits } from "../../core/workflow/input-limits.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { Scope } from "../../ports/host.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import type { Runnable } from "./macrotask-queue.ts"
import type { RunnerContext } from "./runner-context.ts"

/** The environment in which the code of a resident instance runs: an async scope of its own, the engine's log and its limits. */
export class ResidentExecution implements ExecutionEnvironment, Scope {
  readonly workflow: AnyWorkflow
  readonly instance: string
  readonly info: InstanceInfo
  readonly seed: string
  readonly #context: RunnerContext
  readonly #resident: Resident

  constructor(context: RunnerContext, resident: Resident) {
    this.#context = context
    this.#resident = resident
    this.workflow = resident.workflow
    const { id, workflow, version, incarnation } = resident.identity
    const { run, startedAt, parent, seed, schedule } = resident.state
    this.instance = id
    const origin = { ...(parent ? { parentId: parent.instance } : undefined), ...(schedule ? { schedule } : undefined) }
    this.info = { id, workflow, version, incarnation, run, startedAt, attempt: 1, ...origin }
    this.seed = seedOf(incarnation, { run, seed })
  }

  get engine(): object {
    return this.#context.engine
  }

  get limits(): Limits {
    return this.#context.settings.limits
  }

  get log(): WorkflowLog {
    return this.#context.host.log
  }

  enter(run: () => void): void {
    this.#context.host.runIn(this, run)
  }

  /** Refuses the use of the workflow's `ctx` inside a step. A step's function runs outside the order that replay repeats, so its asks could not be matched. */
  guard(): void {
    const step = this.#context.host.currentScope()?.step
    if (step === undefined) return
    throw new PerdureError("CTX_IN_STEP", `step "${step}" uses the workflow's ctx; inside a step ask through its own context: async ({ step }) => step.do(…)`, {
      details: { step },
    })
  }

  get childEffects(): ChildEffects {
    return this.#context.childOperations.effectsOf(this.#resident, this.info.run)
  }

  onActivity(): void {
    if (!this.#resident.isGone) this.#context.macrotaskQueue.enqueue(this.#resident)
  }
}

/** The instance whose code runs. */
interface Resident extends Runnable {
  readonly workflow: AnyWorkflow
  readonly identity: NewInstance
  readonly state: InstanceState
  readonly isGone: boolean
}
