import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { BatchItem, BatchOptions, BatchResult, Changes, ListFilter, ListPage, StartOptions, WorkflowInfo } from "../client-api/client-api.ts"
import type { ClientCalls } from "../client-api/client-calls.ts"
import type { QueueInfo } from "../client-api/task-control.ts"
import { startEach } from "../client-api/start-each.ts"
import { ChangeSequence } from "./changes/change-sequence.ts"
import type { EngineComponents } from "./engine-components.ts"
import { batchStarterOf, startWithin } from "./instances/batch-start.ts"
import { countInstances, listInstances, listWorkflows } from "./instances/instance-list.ts"
import { LocalInstanceCalls } from "./instances/local-instance-calls.ts"
import { listQueues } from "./tasks/queue-list.ts"
import type { SharedStoreCore } from "./shared-store-core.ts"

/** The calls of an engine as a client. */
export class EngineCalls extends LocalInstanceCalls implements ClientCalls {
  readonly #components: EngineComponents
  readonly #requireOpen: () => void

  constructor(core: SharedStoreCore, components: EngineComponents) {
    const requireOpen = () => core.requireOpen()
    super(core, components, requireOpen)
    this.#components = components
    this.#requireOpen = requireOpen
  }

  async start(workflow: AnyWorkflow | string, options: StartOptions<unknown>): Promise<string> {
    this.#requireOpen()
    return this.#components.starter.start(workflow, options)
  }

  remember(workflow: AnyWorkflow): void {
    this.#components.registry.remember(workflow)
  }

  async startBatch(items: readonly BatchItem[], { transaction }: BatchOptions): Promise<readonly BatchResult[]> {
    this.#requireOpen()
    const { starter } = this.#components
    if (transaction !== undefined) return startWithin(items, batchStarterOf(starter, transaction))
    return startEach(items, (workflow, options) => starter.start(workflow, options))
  }

  async workflows(): Promise<readonly WorkflowInfo[]> {
    this.#requireOpen()
    const { registry, store, settings } = this.#components
    return registry.names.length > 0 ? registry.infos : listWorkflows(store.directory, settings.codecs)
  }

  async queues(): Promise<readonly QueueInfo[]> {
    this.#requireOpen()
    return listQueues(this.#components.store.tasks)
  }

  async list(filter: ListFilter): Promise<ListPage> {
    this.#requireOpen()
    return listInstances(this.#components.store.directory, filter, this.#components.settings.codecs)
  }

  async count(filter: ListFilter, by: "status" | "workflow"): Promise<Record<string, number>> {
    this.#requireOpen()
    return countInstances(this.#components.store.directory, filter, by)
  }

  changes(id: string | undefined, cursor: string | undefined): Changes {
    return new ChangeSequence(() => this.#components.changes, cursor, id)
  }
}
