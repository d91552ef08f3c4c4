import { checkArguments } from "../../core/arguments/argument.ts"
import { limitArguments } from "../../core/arguments/client-arguments.ts"
import { durationMs } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import { checkLimitNumber, checkRate, unlimited } from "../../core/workflow/flow-options.ts"
import { givenName, nameOfGiven, nameOfPlace, rateName } from "../../core/workflow/limit-names.ts"
import type { AnyWorkflow } from "../../core/workflow/workflow.ts"
import type { ConcurrencyReport, LimitControl, LimitSettings, RateReport, WorkflowLimitReport } from "../../client-api/limit-control.ts"
import { workflowName } from "../../client-api/workflow-reference.ts"
import type { FlowControl, LimitOverride, LimitState } from "../../ports/flow-control.ts"
import { storedMax } from "./flow-keys.ts"

/** The limits of workflows as the store of an engine has them. */
export class StoredLimits implements LimitControl {
  readonly #flow: Pick<FlowControl, "limitsOf" | "override">
  readonly #check: () => void

  static {
    checkArguments(this.prototype, limitArguments)
  }

  /** `check` throws where the engine is closed. */
  constructor(flow: Pick<FlowControl, "limitsOf" | "override">, check: () => void) {
    this.#flow = flow
    this.#check = check
  }

  async set(workflow: AnyWorkflow | string, limits: LimitSettings): Promise<void> {
    this.#check()
    await this.#override(workflowName(workflow), overrides(workflowName(workflow), limits))
  }

  async get(workflow: AnyWorkflow | string): Promise<WorkflowLimitReport> {
    this.#check()
    const limits = await this.#flow.limitsOf(workflowName(workflow))
    const byName = new Map(limits.map((limit) => [limit.name, limit]))
    const concurrency: ConcurrencyReport[] = []
    for (let limit = byName.get(nameOfPlace(0)); limit; limit = byName.get(nameOfPlace(concurrency.length))) concurrency.push(report(limit))
    const named = limits.filter(({ name }) => givenName(name) !== undefined).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    concurrency.push(...named.map((limit) => report(limit)))
    const rate = byName.get(rateName)
    return { concurrency, ...(rate?.perMs === undefined ? undefined : { rateLimit: rateReport(rate) }) }
  }

  async reset(workflow: AnyWorkflow | string): Promise<void> {
    this.#check()
    const limits = await this.#flow.limitsOf(workflowName(workflow))
    await this.#override(
      workflowName(workflow),
      limits.map(({ name }) => ({ name, to: undefined })),
    )
  }

  async #override(workflow: string, changes: readonly LimitOverride[]): Promise<void> {
    if ((await this.#flow.override(workflow, changes)) === "changed") return
    throw new PerdureError("UNKNOWN_LIMIT", `workflow "${workflow}" has no such limit; declare the limit in its options, and start a worker with them`, {
      details: { workflow },
    })
  }
}

function overrides(workflow: string, { concurrency, rateLimit }: LimitSettings): LimitOverride[] {
  const changes: LimitOverride[] = []
  for (const [name, limit] of limitsByName(concurrency)) {
    if (limit === undefined) continue
    checkLimitNumber("concurrency", `concurrency of workflow "${workflow}"`, limit, 0)
    changes.push({ name, to: { max: storedMax(limit) } })
  }
  if (rateLimit !== undefined) {
    checkRate(`rateLimit of workflow "${workflow}"`, rateLimit, 0)
    changes.push({ name: rateName, to: { max: storedMax(rateLimit.limit), perMs: durationMs(rateLimit.per) } })
  }
  if (changes.length === 0) throw new PerdureError("BAD_OPTION", "give concurrency, rateLimit or both; reset removes earlier changes")
  return changes
}

function limitsByName(concurrency: LimitSettings["concurrency"]): readonly (readonly [name: string, limit: number | undefined])[] {
  if (typeof concurrency !== "object" || concurrency === null) return [[nameOfPlace(0), concurrency]]
  if (Array.isArray(concurrency)) return (concurrency as readonly (number | undefined)[]).map((limit, index) => [nameOfPlace(index), limit])
  return Object.entries(concurrency as Readonly<Record<string, number | undefined>>).map(([name, limit]) => [nameOfGiven(name), limit])
}

function report({ name, max, declared }: LimitState): ConcurrencyReport {
  const given = givenName(name)
  return { ...(given === undefined ? undefined : { name: given }), limit: shown(max), ...(declared ? { declared: shown(declared.max) } : undefined) }
}

function rateReport({ max, perMs = 0, declared }: LimitState): RateReport {
  return {
    limit: shown(max),
    perMs,
    ...(declared ? { declared: { limit: shown(declared.max), perMs: declared.perMs ?? 0 } } : undefined),
  }
}

function shown(max: number): number {
  return max >= unlimited ? Infinity : max
}
