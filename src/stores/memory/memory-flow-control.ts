import type { FlowControl, FlowTraits, LimitOverride, LimitState, LimitWait, UniqueUse, WorkflowLimits } from "../../ports/flow-control.ts"
import { AdmissionNotifier, holdersNamedMax, limitState, removedLimits } from "../shared/flow-rows.ts"
import { uniqueKey, type MemoryLimit } from "./memory-flow.ts"
import type { MemoryAccess } from "./memory-journal-store.ts"

export class MemoryFlowControl implements FlowControl {
  readonly #access: MemoryAccess
  readonly #notifier = new AdmissionNotifier()

  constructor(access: MemoryAccess) {
    this.#access = access
  }

  notifyAdmitted(ids: readonly string[]): void {
    this.#notifier.notify(ids)
  }

  async declare(workflows: readonly WorkflowLimits[]): Promise<void> {
    this.#access.enter()
    for (const { workflow, limits } of workflows) {
      const known = this.#limitsOf(workflow)
      for (const { name, ...declared } of [...limits, ...removedLimits([...known.keys()], limits)])
        this.#setLimit(workflow, name, { declared, override: known.get(name)?.override })
    }
    this.#access.changed()
  }

  async limitsOf(workflow: string): Promise<readonly LimitState[]> {
    this.#access.enter()
    return [...this.#limitsOf(workflow)].map(([name, { declared, override }]) => limitState(name, declared, override))
  }

  async override(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown"> {
    this.#access.enter()
    const known = this.#limitsOf(workflow)
    if (changes.some(({ name }) => !known.has(name))) return "unknown"
    for (const { name, to } of changes) this.#setLimit(workflow, name, { declared: known.get(name)!.declared, override: to })
    this.#access.changed()
    return "changed"
  }

  async holder(unique: UniqueUse): Promise<string | undefined> {
    this.#access.enter()
    return this.#access.database.flow.unique.get(uniqueKey(unique))?.row.id
  }

  async waitOf(id: string): Promise<LimitWait | undefined> {
    this.#access.enter()
    const { flow, instances } = this.#access.database
    const record = instances.get(id)?.flow
    const use = record?.queuedFor === undefined ? undefined : record.uses[record.limitsHeld]
    if (record === undefined || use === undefined) return undefined
    const holders = [...(flow.slots.get(use.key) ?? [])].map(({ instance }) => instance.row.id)
    return {
      use,
      ...numbersOnly(flow.numbers(use)),
      holders: holders.slice(0, holdersNamedMax),
      held: holders.length,
      ahead: flow.ahead(record, instances.values()),
      ...(record.queuedUntil === undefined ? undefined : { until: record.queuedUntil }),
    }
  }

  async assign(id: string, incarnation: string, { priority, limits }: Pick<FlowTraits, "priority" | "limits">, deadlineAt?: number): Promise<boolean> {
    this.#access.enter()
    const { database } = this.#access
    const instance = database.instances.get(id)
    if (instance?.row.incarnation !== incarnation || instance.row.status !== "queued" || instance.flow !== undefined) return false
    const traits = { ...(priority === undefined ? undefined : { priority }), ...(limits === undefined ? undefined : { limits }) }
    database.assign(instance, traits, deadlineAt)
    return true
  }

  onAdmitted(listener: (ids: readonly string[]) => void): () => void {
    return this.#notifier.subscribe(listener)
  }

  #limitsOf(workflow: string): Map<string, MemoryLimit> {
    const { limits } = this.#access.database.flow
    const known = limits.get(workflow) ?? new Map<string, MemoryLimit>()
    limits.set(workflow, known)
    return known
  }

  #setLimit(workflow: string, name: string, limit: MemoryLimit): void {
    const { flow } = this.#access.database
    this.#limitsOf(workflow).set(name, limit)
    flow.admission.limitsChanged(flow.queuedKeys(workflow, name))
  }
}

function numbersOnly({ max, perMs }: { readonly max: number; readonly perMs?: number }): { max: number; perMs?: number } {
  return perMs === undefined ? { max } : { max, perMs }
}
