import type { EventMap } from "./core/workflow.ts"
import { BaseWorkflow as ClientWorkflow } from "./dialects/class/base-workflow.ts"
import { isNamespace, namespaceOf } from "./edge/namespace.ts"
import { workflowClient } from "./edge/workflow-client.ts"
import type { Client } from "./engine/client.ts"
import { workerApp, type WorkerApp, type WorkerAppOptions } from "./http/worker-app.ts"

/** The HTTP API of the instances behind the binding, as the default export of a Worker. */
export function createWorkerApp({ binding = "WORKFLOW_RUNNER", ...options }: WorkerAppOptions = {}): WorkerApp {
  return workerApp(options, (env) => workflowClient(namespaceOf(env, binding)))
}

/** As in `perdure`; its helpers take the Worker's `env`, with a binding `WORKFLOW_RUNNER`, or the binding itself, or any client. */
export abstract class BaseWorkflow<Payload = void, Result = unknown, Events = EventMap> extends ClientWorkflow<Payload, Result, Events> {
  static override clientOf(target: object): Client {
    if (isNamespace(target)) return workflowClient(target)
    return "WORKFLOW_RUNNER" in target ? workflowClient(namespaceOf(target, "WORKFLOW_RUNNER")) : super.clientOf(target)
  }
}

export { annotations } from "./edge/annotations.ts"
export { changes } from "./edge/changes.ts"
export { children } from "./edge/children.ts"
export { codecs } from "./edge/codecs.ts"
export { flowControl } from "./edge/flow-control.ts"
export { history } from "./edge/history.ts"
export { hooks } from "./edge/hooks.ts"
export { nestedSteps } from "./edge/nested-steps.ts"
export { queries } from "./edge/queries.ts"
export { restarts } from "./edge/restarts.ts"
export { schedules } from "./edge/schedules.ts"
export { transactions } from "./edge/transactions.ts"
export { why } from "./edge/why.ts"
export { composeWorkflowRunner, type ComposedRunnerOptions, type WorkflowRunnerOptions } from "./edge/workflow-runner.ts"
export { createWorkflowRunner } from "./edge/whole-runner.ts"
export type { RunnerPart } from "./edge/runner-part.ts"
export { workflowClient } from "./edge/workflow-client.ts"
export { eventSchema } from "./dialects/class/event-schema.ts"
export type { CreateOptions, WorkflowClass } from "./dialects/class/base-workflow.ts"
export type { ClassStepOptions, Step, StepDefaults, StepFunction, StepRetries } from "./dialects/class/step.ts"
export type { WorkerApp, WorkerAppOptions, WorkerHttpOptions } from "./http/worker-app.ts"
export type { ObjectNamespace } from "./hosts/cloudflare/platform.ts"
export type { EdgeClient, EdgeStartOptions } from "./hosts/cloudflare/object-client.ts"
export type { DeliverRequest, InitializeRequest, WorkflowRunnerClass, WorkflowRunnerObject } from "./hosts/cloudflare/workflow-runner.ts"
