import type { EventMap } from "./core/workflow/workflow.ts"
import { BaseWorkflow as ClientWorkflow } from "./dialects/class/base-workflow.ts"
import { isNamespace, namespaceOf } from "./cloudflare/runner/namespace.ts"
import { workflowClient } from "./cloudflare/client/workflow-client.ts"
import type { Client } from "./client-api/client-api.ts"
import { workerApp, type WorkerApp, type WorkerAppOptions } from "./http/worker-app.ts"

/** Creates the HTTP API of the instances behind the binding, for the default export of a Worker. */
export function createWorkerApp({ binding = "WORKFLOW_RUNNER", ...options }: WorkerAppOptions = {}): WorkerApp {
  return workerApp(options, (env) => workflowClient(namespaceOf(env, binding)))
}

/** The class `BaseWorkflow` of `perdure`, whose helpers also take the Worker's `env` with a binding `WORKFLOW_RUNNER`, or the binding itself. */
export abstract class BaseWorkflow<Payload = void, Result = unknown, Events = EventMap> extends ClientWorkflow<Payload, Result, Events> {
  static override clientOf(target: object): Client {
    if (isNamespace(target)) return workflowClient(target)
    return "WORKFLOW_RUNNER" in target ? workflowClient(namespaceOf(target, "WORKFLOW_RUNNER")) : super.clientOf(target)
  }
}

export { createWorkflowRunner, type WorkflowRunnerOptions } from "./cloudflare/runner/create-runner.ts"
export { workflowClient } from "./cloudflare/client/workflow-client.ts"
export { eventSchema } from "./dialects/class/event-schema.ts"
export type { CreateOptions, WorkflowClass } from "./dialects/class/base-workflow.ts"
export type { ClassStepOptions, Step, StepDefaults, StepFunction, StepRetries } from "./dialects/class/step.ts"
export type { WorkerApp, WorkerAppOptions, WorkerHttpOptions } from "./http/worker-app.ts"
export type { ObjectNamespace } from "./cloudflare/platform/platform.ts"
export type { EdgeClient, EdgeStartOptions } from "./cloudflare/client/object-client.ts"
export type { DeliverRequest, InitializeRequest, WorkflowRunnerClass, WorkflowRunnerObject } from "./cloudflare/runner/runner-class.ts"
