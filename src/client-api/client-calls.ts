import type { EventMap, AnyWorkflow } from "../core/workflow/workflow.ts"
import type { BatchItem, BatchOptions, BatchResult, ListFilter, ListPage, SendOrStartOptions, StartOptions, WorkflowInfo } from "./client-api.ts"
import type { InstanceCalls } from "./instance-calls.ts"
import type { QueueInfo } from "./task-control.ts"

/** The calls that each client implements. Their arguments have been checked by `CheckedClient`. */
export interface ClientCalls extends InstanceCalls {
  /** Returns the id of the instance. */
  start(workflow: AnyWorkflow | string, options: StartOptions<unknown>): Promise<string>
  /** The caller has this definition. A client that executes nothing itself may answer queries with it. */
  remember?(workflow: AnyWorkflow): void
  startBatch(items: readonly BatchItem[], options: BatchOptions): Promise<readonly BatchResult[]>
  sendOrStart(workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>): Promise<void>
  queues(): Promise<readonly QueueInfo[]>
  workflows(): Promise<readonly WorkflowInfo[]>
  list(filter: ListFilter): Promise<ListPage>
  count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>>
}
