import type { BatchResult, Client } from "../../client-api/client-api.ts"
import { PerdureError } from "../../core/errors.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import { checkCreatableId, isAddressableId, isCreatableId, nativeId } from "./instance-id.ts"
import { runningWorkflow } from "./running-code.ts"
import { asStep } from "./step-call.ts"
import { nativeRetention, type WorkflowRetention } from "./workflow-definition.ts"
import { alreadyExists, refused } from "./workflow-errors.ts"
import { batchErrors, batchMax, startEachOnce } from "./instance-batch.ts"
import { deleteInstance, withKnownErrors } from "./instance-calls.ts"
import { type InstancePlace, WorkflowInstance } from "./workflow-instance.ts"

/** Options of `create`. */
export interface WorkflowInstanceCreateOptions<Params = unknown> {
  /** Unique in the workflow: at most 100 letters, digits, `_` and `-`. Default: a random one. */
  id?: string
  /** The `payload` of the event that `run` gets. Default `{}`. */
  params?: Params
  /** How long the instance is kept when it has ended. */
  retention?: WorkflowRetention
  /** Where the instance is to live; only Durable Objects look at it. */
  locationHint?: string
}

/** Options of `createBatch`: a list of instances, or a number of equal ones. */
export type WorkflowBatchCreateOptions<Params = unknown> =
  | {
      /** Each with options of its own. */
      instances: WorkflowInstanceCreateOptions<Params>[]
      count?: never
      params?: never
      retention?: never
      locationHint?: never
    }
  | ({
      /** How many; each gets a random id. */
      count: number
      instances?: never
    } & Omit<WorkflowInstanceCreateOptions<Params>, "id">)

/** What became of a batch. */
export interface WorkflowBatchCreateResult {
  /** The instances that were created. */
  created: WorkflowInstance[]
  /** The others, by their place in the batch. */
  errors: { index: number; id?: string; code: number; message: string }[]
}

/** What became of a batch of deletions. */
export interface WorkflowBatchDeleteResult {
  /** The instances that are gone. */
  deleted: { id: string }[]
  /** The others. */
  errors: { id: string; code: number; message: string }[]
}

/** The binding of one workflow: creates its instances, and finds them. */
export class WorkflowBinding<Params = unknown> {
  readonly #place: InstancePlace
  readonly #definition: AnyWorkflow

  constructor(binding: string, definition: AnyWorkflow, client: () => Client | Promise<Client>) {
    this.#definition = definition
    this.#place = { binding, workflow: definition.name, client }
  }

  /** Throws `instance.not_found` where there is no such instance. */
  async get(id: string): Promise<WorkflowInstance> {
    const instance = new WorkflowInstance(this.#place, id)
    await instance.status()
    return instance
  }

  /** Resolves when the instance is stored. Throws `(instance.already_exists)` for an id in use. */
  async create(options: WorkflowInstanceCreateOptions<Params> = {}): Promise<WorkflowInstance> {
    const ctx = runningWorkflow()
    const { id = ctx ? ctx.uuid() : crypto.randomUUID(), params, retention } = options
    checkCreatableId(id)
    const start = { id: nativeId(this.#place.workflow, id), input: params === undefined ? {} : params, ...nativeRetention(retention) }
    try {
      if (ctx) await ctx.startChild(this.#definition, { ...start, onParentEnd: "abandon" } as never)
      else await (await this.#place.client()).start(this.#definition, start as never)
    } catch (error) {
      if (PerdureError.is(error, "ID_EXISTS")) throw alreadyExists(id)
      throw error
    }
    return new WorkflowInstance(this.#place, id)
  }

  /** Creates up to 100 instances. The result tells which could not be created. */
  createBatch(options: WorkflowBatchCreateOptions<Params>): Promise<WorkflowBatchCreateResult>
  /** @deprecated Use the form with an object: it tells which instances could not be created. */
  createBatch(options: WorkflowInstanceCreateOptions<Params>[]): Promise<WorkflowInstance[]>
  async createBatch(options: WorkflowBatchCreateOptions<Params> | WorkflowInstanceCreateOptions<Params>[]) {
    const isList = Array.isArray(options)
    const instances = isList ? checkedList(options) : checkedBatch(options)
    const ctx = runningWorkflow()
    const wanted = instances.map((instance) => ({ ...instance, id: instance.id ?? (ctx ? ctx.uuid() : crypto.randomUUID()) }))
    const outcomes = await asStep(`${this.#place.binding}.createBatch`, () => this.#startBatch(wanted))
    const result: WorkflowBatchCreateResult = { created: [], errors: [] }
    outcomes.forEach((outcome, index) => {
      const id = wanted[index]?.id ?? ""
      if (outcome === "created") result.created.push(new WorkflowInstance(this.#place, id))
      else result.errors.push({ index, id, ...batchErrors[outcome] })
    })
    return isList ? result.created : result
  }

  async #startBatch(wanted: readonly (WorkflowInstanceCreateOptions & { id: string })[]): Promise<readonly ("created" | "exists" | "twice" | "internal")[]> {
    const items = wanted.map(({ id, params, retention }) => ({
      workflow: this.#definition,
      id: nativeId(this.#place.workflow, id),
      input: params === undefined ? {} : params,
      ...nativeRetention(retention),
    }))
    const results = await startEachOnce(await this.#place.client(), items)
    return results.map((result) => (result === "twice" ? "twice" : outcomeOf(result)))
  }

  /** Deletes each instance once, whatever it is doing. The result has an entry for each id that was given. */
  async deleteBatch(ids: string[]): Promise<WorkflowBatchDeleteResult> {
    if (!Array.isArray(ids)) throw refused("body", "Provided argument is invalid")
    if (ids.length > batchMax) throw refused("body", `batchDeleteInstances only supports ${batchMax} instances at a time`)
    if (ids.length === 0) throw refused("body", "batchDeleteInstances should have at least 1 instance")
    if (!ids.every(isAddressableId)) throw refused("instance.invalid_id", "Instance ID is invalid")
    const outcomes = await asStep(`${this.#place.binding}.deleteBatch`, () => this.#deleteEach(ids))
    const result: WorkflowBatchDeleteResult = { deleted: [], errors: [] }
    for (const [index, id] of ids.entries()) {
      const outcome = outcomes[index] ?? "internal"
      if (outcome === "deleted") result.deleted.push({ id })
      else result.errors.push({ id, ...batchErrors[outcome] })
    }
    return result
  }

  async #deleteEach(ids: readonly string[]): Promise<readonly ("deleted" | "notFound" | "internal")[]> {
    const client = await this.#place.client()
    const deleted = new Map<string, "deleted" | "notFound" | "internal">()
    await Promise.all(
      [...new Set(ids)].map(async (id) => {
        try {
          await withKnownErrors(() => deleteInstance(client.get(nativeId(this.#place.workflow, id))))
          deleted.set(id, "deleted")
        } catch (error) {
          deleted.set(id, (error as Error).message === "instance.not_found" ? "notFound" : "internal")
        }
      }),
    )
    return ids.map((id) => deleted.get(id) ?? "internal")
  }
}

function outcomeOf(result: BatchResult): "created" | "exists" | "internal" {
  if (result.created) return "created"
  return result.error.code === "ID_EXISTS" ? "exists" : "internal"
}

function checkedList(instances: WorkflowInstanceCreateOptions[]): WorkflowInstanceCreateOptions[] {
  if (instances.length === 0) throw new Error("WorkflowError: batchCreate should have at least 1 instance")
  if (instances.length > batchMax) throw new Error(`WorkflowError: batchCreate only supports ${batchMax} instances at a time`)
  for (const { id, retention } of instances) {
    if (id !== undefined) checkCreatableId(id)
    nativeRetention(retention)
  }
  return instances
}

function checkedBatch(options: WorkflowBatchCreateOptions): WorkflowInstanceCreateOptions[] {
  if (typeof options !== "object" || options === null) throw refused("body", "Provided argument is invalid")
  const { count, instances, ...shared } = options as { count?: unknown; instances?: unknown } & WorkflowInstanceCreateOptions
  if (count !== undefined) {
    if (!Number.isInteger(count) || (count as number) <= 0) throw refused("body", "count must be a positive integer")
    if ((count as number) > batchMax) throw refused("body", `batchCreate only supports ${batchMax} instances at a time`)
    nativeRetention(shared.retention)
    return Array.from({ length: count as number }, () => shared)
  }
  if (!Array.isArray(instances)) throw refused("body", "Provided argument is invalid")
  if (instances.length === 0 || instances.length > batchMax) throw refused("body", "Batch size exceeds maximum allowed")
  for (const { id, retention } of instances as WorkflowInstanceCreateOptions[]) {
    nativeRetention(retention)
    if (id !== undefined && (!isCreatableId(id) || isReservedId(id))) throw refused("instance.invalid_id", "Instance ID is invalid")
  }
  return instances as WorkflowInstanceCreateOptions[]
}

function isReservedId(id: string): boolean {
  return ["batch", "terminate", "terminateAll"].includes(id) || /^cf_[0-9a-f]{64}$/.test(id)
}
