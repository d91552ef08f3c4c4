import type { ObjectNamespace } from "./cloudflare/platform/platform.ts"
import { isNamespace } from "./cloudflare/runner/namespace.ts"
import { workflowClient } from "./cloudflare/client/workflow-client.ts"
import { ActivitiesClient, type Connection, givenConnection, isNativeClient, type NativeClient } from "./dialects/activities/activities-client.ts"
import { ActivitiesWorker, type WorkerEngineOptions } from "./dialects/activities/activities-worker.ts"
import { connect } from "./http-client/connect.ts"
import type { ConnectOptions } from "./http-client/transport.ts"
import { Perdure, type PerdureOptions } from "./index.ts"
import type { StoreProvider } from "./ports/store.ts"

/** Options of a `WorkflowClient` on a store. A client needs the code of workflows only to answer queries about them. */
export type WorkflowClientOptions = Pick<PerdureOptions, "workflows" | "codec" | "retiredCodecs" | "limits" | "sweep" | "log">

/**
 * Starts, signals, queries, lists and ends workflows. `target` is a store, the address of a server, the Durable Object binding of a runner, or a client of
 * `perdure` such as an engine. The first call connects.
 *
 * @example
 * const client = new WorkflowClient(sqlite("app.db"))
 * const handle = await client.start(processOrder, { workflowId: "order-1", input: { id: "1", items: ["lamp"] }, taskQueue: "orders" })
 * console.log(await handle.result())
 * await client.close()
 */
export class WorkflowClient extends ActivitiesClient {
  readonly #connect: () => Promise<Connection>

  constructor(store: StoreProvider, options?: WorkflowClientOptions)
  constructor(url: string, options?: ConnectOptions)
  constructor(target: ObjectNamespace | NativeClient)
  constructor(target: StoreProvider | ObjectNamespace | NativeClient | string, options: WorkflowClientOptions & ConnectOptions = {}) {
    super()
    this.#connect = async () => {
      if (typeof target === "string") {
        const client = connect(target, options)
        return { client, close: () => client.close() }
      }
      if (isNamespace(target)) return givenConnection(workflowClient(target))
      if (isNativeClient(target)) return givenConnection(target)
      const engine = await Perdure.open({ ...options, store: target, role: "client" })
      return { client: engine, close: () => engine.close() }
    }
  }

  protected override connect(): Promise<Connection> {
    return this.#connect()
  }
}

/**
 * Serves a task queue: executes its workflows, and runs its activities. On SQLite, one process at a time executes workflows; every process runs the
 * activities of its queue.
 *
 * @example
 * const worker = new WorkflowWorker({ store: sqlite("app.db"), taskQueue: "orders", workflows: [processOrder], activities: [reserveInventory] })
 * process.once("SIGTERM", () => worker.shutdown())
 * await worker.run()
 */
export class WorkflowWorker extends ActivitiesWorker {
  protected override open(options: WorkerEngineOptions): Promise<{ close(): Promise<void> }> {
    return Perdure.open(options)
  }
}

export { defineActivity } from "./core/workflow/activity.ts"
export { workflow } from "./dialects/activities/workflow-definition.ts"
export type { Activity, ActivityContext, ActivityDefaults, ActivityOptions } from "./core/workflow/activity.ts"
export type {
  NativeClient,
  StandaloneActivityArguments,
  StandaloneActivityOptions,
  WorkflowStartArguments,
  WorkflowStartOptions,
} from "./dialects/activities/activities-client.ts"
export type { WorkflowWorkerOptions } from "./dialects/activities/activities-worker.ts"
export type { ChildWorkflow, ChildWorkflowArguments, ChildWorkflowOptions, WorkflowContext } from "./dialects/activities/workflow-context.ts"
export type { WorkflowOptions } from "./dialects/activities/workflow-definition.ts"
export type { WorkflowControlResult, WorkflowDescription, WorkflowFilter, WorkflowPage, WorkflowSummary } from "./dialects/activities/workflow-execution.ts"
export type { WorkflowHandle, WorkflowHandleOf } from "./dialects/activities/workflow-handle.ts"
export type { WorkflowStatus } from "./dialects/activities/workflow-status.ts"
