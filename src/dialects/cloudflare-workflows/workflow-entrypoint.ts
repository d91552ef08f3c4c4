import type { WorkflowBinding } from "./workflow-binding.ts"
import type { WorkflowStep } from "./workflow-step.ts"

/** What starts an instance: what it was created with, and who it is. */
export type WorkflowEvent<T> = {
  /** The `params` of the creation; `{}` where there were none. */
  payload: Readonly<T>
  /** When the instance was created. */
  timestamp: Date
  /** The id of the instance, which is unique in its workflow. */
  instanceId: string
  /** The name of the workflow. */
  workflowName: string
  /** Absent: no schedule created the instance. */
  schedule?: WorkflowCronSchedule
}

/** The cron schedule that created the instance. */
export type WorkflowCronSchedule = {
  /** The cron expression. */
  cron: string
  /** Milliseconds since 1970. */
  scheduledTime: number
}

/** The `ctx` of an entrypoint. */
export interface WorkflowExecutionContext {
  /** The bindings of all workflows, by the names of their classes. */
  readonly exports: Readonly<Record<string, unknown>>
  /** Nothing: outside of Cloudflare there are no props. */
  readonly props: unknown
  /** The promise may settle after the run has ended. A rejection is logged. */
  waitUntil(promise: Promise<unknown>): void
  /** Does nothing here. */
  passThroughOnException(): void
}

/**
 * A workflow as a class, as Cloudflare Workflows has it.
 *
 * @example
 * class Checkout extends WorkflowEntrypoint<{ SHOP: string }, { cart: string }> {
 *   async run(event: WorkflowEvent<{ cart: string }>, step: WorkflowStep) {
 *     return step.do("charge", async () => `charged ${event.payload.cart} in ${this.env.SHOP}`)
 *   }
 * }
 */
export abstract class WorkflowEntrypoint<Env = unknown, T = unknown> {
  protected ctx: WorkflowExecutionContext
  protected env: Env

  constructor(ctx: WorkflowExecutionContext, env: Env) {
    this.ctx = ctx
    this.env = env
  }

  /** The bindings of all workflows, by the names of the workflows. They are there once `run` is called. */
  declare protected readonly workflows: Readonly<Record<string, WorkflowBinding>>

  /** The code of the workflow. Its results and errors are those of the instance. */
  abstract run(event: Readonly<WorkflowEvent<T>>, step: WorkflowStep): Promise<unknown>
}

/** A class of a workflow: ours, or one that extends the `WorkflowEntrypoint` of `cloudflare:workers`. */
export interface WorkflowEntrypointClass {
  /** The name of the class: its binding has this name in `ctx.exports`. */
  readonly name: string
  // oxlint-disable-next-line typescript/no-explicit-any -- the env and the payload of each class are its own
  new (ctx: any, env: any): { run(event: any, step: any): Promise<unknown> }
}
