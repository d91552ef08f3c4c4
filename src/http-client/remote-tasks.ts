import { checkArguments } from "../core/arguments/argument.ts"
import { taskArguments } from "../core/arguments/client-arguments.ts"
import { durationMs } from "../core/time/duration.ts"
import { decodeValue, encodeError } from "../core/values/value-codec.ts"
import { isNonRetryable } from "../core/workflow/retry-policy.ts"
import type { ClaimedActivity, ClaimOptions, FailOptions, HeartbeatOptions, TaskControl, TaskReference } from "../client-api/task-control.ts"
import { valueIn } from "./response.ts"
import { sleep } from "./retry-pacing.ts"
import type { Transport } from "./transport.ts"
import { withoutUndefined } from "./wire-bodies.ts"

/** One request waits this long at most. */
const waitMsMax = 30_000
/** How long the answer may take beyond the time that the server is asked to wait. */
const graceMs = 15_000
const pollMs = 500

/** The task queues of a server. Every request may be sent again: a claim whose answer got lost ends with its lease. */
export class RemoteTasks implements TaskControl {
  readonly #transport: Transport

  static {
    checkArguments(this.prototype, taskArguments)
  }

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async claim(queue: string, { worker, activities, max, wait = 0, signal }: ClaimOptions): Promise<readonly ClaimedActivity[]> {
    const { pace, signal: closing } = this.#transport
    const until = pace.now() + durationMs(wait, "wait")
    for (;;) {
      const askedAt = pace.now()
      const leftMs = Math.max(0, Math.min(until - askedAt, waitMsMax))
      const body = withoutUndefined({ worker, activities, max, wait: leftMs })
      try {
        const path = ["queues", queue, "claim"]
        const answer = await this.#transport.exchange({ method: "POST", path, body, isRepeatable: true, timeoutMs: leftMs + graceMs, signal })
        const { tasks } = valueIn(answer) as { readonly tasks: readonly ClaimedActivity[] }
        const now = pace.now()
        if (tasks.length > 0 || now >= until) return tasks
        // A server that is closing answers at once. This pause keeps the client from asking all the time.
        if (now - askedAt < pollMs) await sleep(pace, Math.min(pollMs, until - now), signal ? AbortSignal.any([closing, signal]) : closing)
      } catch (error) {
        // The server gives back what it has claimed for a caller that went away.
        if (signal?.aborted === true) return []
        throw error
      }
    }
  }

  heartbeat(task: TaskReference, { details, renew }: HeartbeatOptions = {}): Promise<void> {
    return this.#tell(task, "heartbeat", { details, renew })
  }

  complete(task: TaskReference, result?: unknown): Promise<void> {
    return this.#tell(task, "complete", { result })
  }

  fail(task: TaskReference, error: unknown, { retryable = !isNonRetryable(error) }: FailOptions = {}): Promise<void> {
    return this.#tell(task, "fail", { error: sendable(error), retryable })
  }

  async #tell({ id, token }: TaskReference, what: string, fields: object): Promise<void> {
    valueIn(await this.#transport.exchange({ method: "POST", path: ["tasks", id, what], body: { token, ...withoutUndefined(fields) }, isRepeatable: true }))
  }
}

/** The error without the members that cannot be stored. */
function sendable(error: unknown): unknown {
  return decodeValue(encodeError(error))
}
