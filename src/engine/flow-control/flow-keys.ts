import type { Payload } from "../../core/values/value-codec.ts"
import { durationMs } from "../../core/time/duration.ts"
import { messageOf } from "../../core/values/error-text.ts"
import { PerdureError } from "../../core/errors.ts"
import { checkPriority, concurrencyLimits, hasFlow, unlimited, type FlowFunction, type FlowOptions } from "../../core/workflow/flow-options.ts"
import { namedLimits, rateName } from "../../core/workflow/limit-names.ts"
import { defaultLimits, lengthProblemOf } from "../../core/workflow/input-limits.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { WorkflowSource } from "../../core/workflow/workflow-source.ts"
import type { FlowTraits, LimitUse, UniqueUse, WorkflowLimits } from "../../ports/flow-control.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import { WorkflowRegistry } from "../workflow-registry.ts"

/** Computes limit keys, unique keys and priorities from the flow options of workflows. Stores count by these keys. */

const keyLengthMax = 256

/** The flow-control keys and the priority of an instance with this input; undefined if it has none. */
export function flowTraits(workflow: AnyWorkflow, input: unknown, priority: number | undefined): FlowTraits | undefined {
  const { options } = workflow
  if (priority === undefined && !hasFlow(options)) return undefined
  const limits = limitUses(workflow, input)
  const unique = uniqueUses(workflow, input)
  const chosen = priority ?? priorityOf(workflow, input)
  if (chosen === 0 && limits.length === 0 && unique.length === 0) return undefined
  return {
    ...(chosen === 0 ? undefined : { priority: chosen }),
    ...(limits.length === 0 ? undefined : { limits }),
    ...(unique.length === 0 ? undefined : { unique }),
  }
}

export function hasLimits({ options }: AnyWorkflow): boolean {
  return options.rateLimit !== undefined || concurrencyLimits(options).length > 0
}

/** Flow-control keys of a fork: computed from its input, or copied from the original if its workflow is not registered here. */
export function forkTraits({ flow }: NewInstance, workflow: AnyWorkflow | undefined, input: Payload): FlowTraits | undefined {
  const traits = workflow ? flowTraits(workflow, input.decode(), flow?.priority) : flow
  if (traits?.unique === undefined) return traits
  // A fork does not wait for further starts, so it has no debounce key.
  return { ...traits, unique: traits.unique.filter(({ kind }) => kind !== "debounce") }
}

/** The limits of each workflow as its code declares them. If versions differ, the last registered version counts. */
export function declaredLimits(registry: WorkflowRegistry): readonly WorkflowLimits[] {
  const known = declared.get(registry)
  if (known) return known
  const limits = registry.names.map((workflow) => {
    const limits = new Map<string, WorkflowLimits["limits"][number]>()
    for (const version of registry.versions(workflow)) {
      const { concurrency, rateLimit } = registry.resolve(workflow, version).options
      for (const { name, limit } of namedLimits({ concurrency } as FlowOptions<unknown>)) limits.set(name, { name, max: storedMax(limit) })
      if (rateLimit) limits.set(rateName, { name: rateName, max: storedMax(rateLimit.limit), perMs: durationMs(rateLimit.per) })
    }
    return { workflow, limits: [...limits.values()] }
  })
  declared.set(registry, limits)
  return limits
}

const declared = new WeakMap<WorkflowRegistry, readonly WorkflowLimits[]>()

/** Returns the numbers that the code declares for a limit; undefined if the code does not know the workflow. */
export function declaredNumbers(workflows: readonly WorkflowSource[]): (use: LimitUse) => { readonly max: number; readonly perMs?: number } | undefined {
  const declared = new Map<string, { readonly max: number; readonly perMs?: number }>()
  const registry = new WorkflowRegistry(workflows, defaultLimits)
  for (const { workflow, limits } of declaredLimits(registry)) for (const { name, ...numbers } of limits) declared.set(`${workflow}/${name}`, numbers)
  // A limit that was removed from the options of a workflow no longer blocks any instance.
  return ({ workflow, name }) => declared.get(`${workflow}/${name}`) ?? (registry.versions(workflow).length > 0 ? { max: unlimited } : undefined)
}

/** The number that stores keep for a limit. They cannot keep `Infinity`. */
export function storedMax(limit: number): number {
  return Math.min(limit, unlimited)
}

/**
 * The limits that an instance counts for. Limits with a key come first, so that an instance waits at the limit of its key before it takes a slot of the
 * whole workflow. The others are in order of their names. Instances of all deploys take slots in the same order, so no two wait for each other.
 */
function limitUses(workflow: AnyWorkflow, input: unknown): LimitUse[] {
  const { name, options } = workflow
  const uses: LimitUse[] = namedLimits(options).map(({ name: limitName, limit, key, hold = false }) => ({
    ...limitKey(name, limitName, keyOf(workflow, "concurrency", key, input)),
    kind: "concurrency",
    hold,
    max: storedMax(limit),
  }))
  const { rateLimit } = options
  if (rateLimit) {
    const key = limitKey(name, rateName, keyOf(workflow, "rateLimit", rateLimit.key, input))
    uses.push({ ...key, kind: "rate", hold: false, max: storedMax(rateLimit.limit), perMs: durationMs(rateLimit.per) })
  }
  return uses.toSorted((a, b) => Number(b.isKeyed) - Number(a.isKeyed))
}

function limitKey(workflow: string, name: string, key: string | undefined): Pick<LimitUse, "workflow" | "name" | "key" | "isKeyed"> {
  return { workflow, name, key: key === undefined ? `${workflow}/${name}` : `${workflow}/${name}/${key}`, isKeyed: key !== undefined }
}

function uniqueUses(workflow: AnyWorkflow, input: unknown): UniqueUse[] {
  const { singleton, debounce } = workflow.options
  const use = (kind: UniqueUse["kind"], key: FlowFunction<unknown, string> | undefined): UniqueUse => {
    const value = keyOf(workflow, kind, key, input)
    return { kind, key: value === undefined ? workflow.name : `${workflow.name}/${value}` }
  }
  const uses: UniqueUse[] = []
  if (singleton) uses.push(use("singleton", singleton === true ? undefined : singleton.key))
  if (debounce) uses.push(use("debounce", debounce.key))
  return uses
}

function priorityOf({ name, options: { priority = 0 } }: AnyWorkflow, input: unknown): number {
  if (typeof priority !== "function") return priority
  return checkPriority(`what priority of workflow "${name}" gives`, callOption(name, "priority", priority, input))
}

function keyOf({ name }: AnyWorkflow, option: string, key: FlowFunction<unknown, string> | undefined, input: unknown): string | undefined {
  if (key === undefined) return undefined
  const value: unknown = callOption(name, option, key, input)
  const problem = lengthProblemOf(value, keyLengthMax) ?? (isText(value as string) ? undefined : "holds U+0000 or half of a character")
  if (problem === undefined) return value as string
  throw new PerdureError("BAD_LIMIT_KEY", `the key that ${option} of workflow "${name}" gives ${problem}`, { details: { workflow: name, option } })
}

function callOption<T>(workflow: string, option: string, fn: FlowFunction<unknown, T>, input: unknown): T {
  try {
    return fn(input)
  } catch (cause) {
    throw new PerdureError("BAD_LIMIT_KEY", `${option} of workflow "${workflow}" threw an error for this input: ${messageOf(cause)}`, {
      details: { workflow, option },
      cause,
    })
  }
}

function isText(value: string): boolean {
  return !value.includes("\0") && !/\p{Surrogate}/u.test(value)
}
