import { checkArguments } from "../core/arguments/argument.ts"
import { limitArguments } from "../core/arguments/client-arguments.ts"
import type { AnyWorkflow } from "../core/workflow/workflow.ts"
import type { LimitControl, LimitSettings, WorkflowLimitReport } from "../client-api/limit-control.ts"
import { valueIn } from "./response.ts"
import type { Call, Transport } from "./transport.ts"
import { workflowName } from "../client-api/workflow-reference.ts"
import { withoutUndefined } from "./wire-bodies.ts"

/** The limits of workflows over HTTP. */
export class RemoteLimits implements LimitControl {
  readonly #transport: Transport

  static {
    checkArguments(this.prototype, limitArguments)
  }

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async set(workflow: AnyWorkflow | string, { concurrency, rateLimit }: LimitSettings): Promise<void> {
    const rate = rateLimit && { ...rateLimit, limit: textOf(rateLimit.limit) }
    await this.#call("PUT", workflow, withoutUndefined({ concurrency: concurrencyOf(concurrency), rateLimit: rate }))
  }

  async get(workflow: AnyWorkflow | string): Promise<WorkflowLimitReport> {
    const { type: _, ...report } = (await this.#call("GET", workflow)) as WorkflowLimitReport & { readonly type: string }
    return report
  }

  async reset(workflow: AnyWorkflow | string): Promise<void> {
    await this.#call("DELETE", workflow)
  }

  async #call(method: Call["method"], workflow: AnyWorkflow | string, body?: object): Promise<unknown> {
    return valueIn(
      await this.#transport.exchange({ method, path: ["limits", workflowName(workflow)], isRepeatable: true, ...(body === undefined ? undefined : { body }) }),
    )
  }
}

function concurrencyOf(concurrency: LimitSettings["concurrency"]): unknown {
  if (typeof concurrency === "number") return textOf(concurrency)
  if (Array.isArray(concurrency)) return (concurrency as readonly (number | undefined)[]).map((one) => (one === undefined ? null : textOf(one)))
  // The server refuses any other value.
  if (typeof concurrency !== "object" || concurrency === null) return concurrency
  return Object.fromEntries(Object.entries(concurrency).flatMap(([name, one]) => (one === undefined ? [] : [[name, textOf(one)]])))
}

/** JSON has no `Infinity`, so it is sent as text. */
function textOf(limit: number): number | "Infinity" {
  return limit === Infinity ? "Infinity" : limit
}
