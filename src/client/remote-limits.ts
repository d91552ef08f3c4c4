import type { AnyWorkflow } from "../core/workflow.ts"
import type { LimitControl, LimitSettings, WorkflowLimitReport } from "../engine/limit-control.ts"
import { valueIn } from "./answer.ts"
import type { Call, Transport } from "./transport.ts"
import { given, nameOf } from "./wording.ts"

export class RemoteLimits implements LimitControl {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async set(workflow: AnyWorkflow | string, { concurrency, rateLimit }: LimitSettings): Promise<void> {
    const several = Array.isArray(concurrency)
      ? (concurrency as readonly (number | undefined)[]).map((one) => (one === undefined ? null : textOf(one)))
      : undefined
    const one = typeof concurrency === "number" ? textOf(concurrency) : concurrency
    const rate = rateLimit && { ...rateLimit, limit: textOf(rateLimit.limit) }
    await this.#call("PUT", workflow, given({ concurrency: several ?? one, rateLimit: rate }))
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
      await this.#transport.exchange({ method, path: ["limits", nameOf(workflow)], isRepeatable: true, ...(body === undefined ? undefined : { body }) }),
    )
  }
}

/** JSON has no Infinity. */
function textOf(limit: number): number | "Infinity" {
  return limit === Infinity ? "Infinity" : limit
}
