// What `import "perdure/activities"` is in a Worker. Its types are those of activities.ts. A Worker cannot open a store, so this entry imports neither the Node
// host nor a store, and bundles do not contain them.

import { isNamespace } from "./cloudflare/runner/namespace.ts"
import { workflowClient } from "./cloudflare/client/workflow-client.ts"
import type { ObjectNamespace } from "./cloudflare/platform/platform.ts"
import { PerdureError } from "./core/errors.ts"
import { ActivitiesClient, type Connection, givenConnection, isNativeClient, type NativeClient } from "./dialects/activities/activities-client.ts"
import { ActivitiesWorker } from "./dialects/activities/activities-worker.ts"
import { connect } from "./http-client/connect.ts"
import type { ConnectOptions } from "./http-client/transport.ts"

/** A client of the Durable Objects behind a binding, or of a server. */
export class WorkflowClient extends ActivitiesClient {
  readonly #target: ObjectNamespace | NativeClient | string
  readonly #options: ConnectOptions

  constructor(target: ObjectNamespace | NativeClient | string, options: ConnectOptions = {}) {
    super()
    this.#target = target
    this.#options = options
  }

  protected override async connect(): Promise<Connection> {
    const target = this.#target
    if (typeof target === "string") return givenConnection(connect(target, this.#options))
    if (isNamespace(target)) return givenConnection(workflowClient(target))
    if (isNativeClient(target)) return givenConnection(target)
    throw new PerdureError("BAD_OPTION", "a Worker cannot open a store; give the WorkflowClient the binding of the runner, such as env.WORKFLOW_RUNNER")
  }
}

/** Its `run` throws `BAD_OPTION`: in a Worker, the class that `createWorkflowRunner` returns runs workflows and activities. */
export class WorkflowWorker extends ActivitiesWorker {
  protected override async open(): Promise<never> {
    throw new PerdureError("BAD_OPTION", 'a Worker cannot run a WorkflowWorker; use createWorkflowRunner of "perdure/cloudflare"')
  }
}

export { defineActivity } from "./core/workflow/activity.ts"
export { workflow } from "./dialects/activities/workflow-definition.ts"
