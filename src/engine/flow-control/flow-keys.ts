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

/** Turns what workflows say about flow control into the keys and numbers that stores count by. */

const keyLengthMax = 256

/** What is to be known of an instance with this input. Undefined: nothing. */
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

/** Those of a fork: as of its input; of a workflow that is not known here, as of the original. */
export function forkTraits({ flow }: NewInstance, workflow: AnyWorkflow | undefined, input: Payload): FlowTraits | undefined {
  const traits = workflow ? flowTraits(workflow, input.decode(), flow?.priority) : flow
  if (traits?.unique === undefined) return traits
  // What begins in the middle has no start that could be put off.
  return { ...traits, unique: traits.unique.filter(({ kind }) => kind !== "debounce") }
}

/** What the code says of the limits of each workflow. Where versions differ, the last registered counts. */
export function declaredLimits(registry: WorkflowRegistry): readonly WorkflowLimits[] {
  const known = declared.get(registry)
  if (known) return known
  const limits = registry.names.map((workflow) => {
    const limits = new Map<string, WorkflowLimits["limits"][number]>()
    for (const version of registry.versions(workflow)) {
      const { concurrency, rateLimit } = registry.resolve(workflow, version).options
      for (const { name, limit } of namedLimits({ concurrency } as FlowOptions<unknown>)) limits.set(name, { name, max: stored(limit) })
      if (rateLimit) limits.set(rateName, { name: rateName, max: stored(rateLimit.limit), perMs: durationMs(rateLimit.per) })
    }
    return { workflow, limits: [...limits.values()] }
  })
  declared.set(registry, limits)
  return limits
}

const declared = new WeakMap<WorkflowRegistry, readonly WorkflowLimits[]>()

/** What the code says of a limit; undefined: it does not know it. */
export function declaredNumbers(workflows: readonly WorkflowSource[]): (use: LimitUse) => { readonly max: number; readonly perMs?: number } | undefined {
  const declared = new Map<string, { readonly max: number; readonly perMs?: number }>()
  const registry = new WorkflowRegistry(workflows, defaultLimits)
  for (const { workflow, limits } of declaredLimits(registry)) for (const { name, ...numbers } of limits) declared.set(`${workflow}/${name}`, numbers)
  // A limit that the workflow does not have any more counts no longer.
  return ({ workflow, name }) => declared.get(`${workflow}/${name}`) ?? (registry.versions(workflow).length > 0 ? { max: unlimited } : undefined)
}

/** A limit as stores have it. */
export function stored(limit: number): number {
  return Math.min(limit, unlimited)
}

/**
 * Those of one key before those of all, so that the surplus of a key waits on its own limit and holds up no other. Otherwise in the order
 * of their names: instances of an older deploy, too, take them in the same order, and no two can wait for each other.
 */
function limitUses(workflow: AnyWorkflow, input: unknown): LimitUse[] {
  const { name, options } = workflow
  const uses: LimitUse[] = namedLimits(options).map(({ name: limitName, limit, key, hold = false }) => ({
    ...limitKey(name, limitName, keyOf(workflow, "concurrency", key, input)),
    kind: "concurrency",
    hold,
    max: stored(limit),
  }))
  const { rateLimit } = options
  if (rateLimit) {
    const key = limitKey(name, rateName, keyOf(workflow, "rateLimit", rateLimit.key, input))
    uses.push({ ...key, kind: "rate", hold: false, max: stored(rateLimit.limit), perMs: durationMs(rateLimit.per) })
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
  return checkPriority(`what priority of workflow "${name}" gives`, called(name, "priority", priority, input))
}

function keyOf({ name }: AnyWorkflow, option: string, key: FlowFunction<unknown, string> | undefined, input: unknown): string | undefined {
  if (key === undefined) return undefined
  const value: unknown = called(name, option, key, input)
  const problem = lengthProblemOf(value, keyLengthMax) ?? (isText(value as string) ? undefined : "holds U+0000 or half of a character")
  if (problem === undefined) return value as string
  throw new PerdureError("BAD_LIMIT_KEY", `the key that ${option} of workflow "${name}" gives ${problem}`, { details: { workflow: name, option } })
}

function called<T>(workflow: string, option: string, fn: FlowFunction<unknown, T>, input: unknown): T {
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
