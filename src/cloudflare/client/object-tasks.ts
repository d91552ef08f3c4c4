import { checkArguments } from "../../core/arguments/argument.ts"
import { taskArguments } from "../../core/arguments/client-arguments.ts"
import { PerdureError } from "../../core/errors.ts"
import { durationMs } from "../../core/time/duration.ts"
import { isNonRetryable } from "../../core/workflow/retry-policy.ts"
import {
  type ClaimedActivity,
  type ClaimOptions,
  type FailOptions,
  type HeartbeatOptions,
  type QueueInfo,
  type TaskControl,
  type TaskReference,
  staleTask,
} from "../../client-api/task-control.ts"
import { askTaskQueue } from "../objects/ask-task-queue.ts"
import { stubOf } from "../objects/object-rpc.ts"
import { taskQueueName } from "../store/object-name.ts"
import type { QueueClaimOptions, TaskQueueMethod } from "../objects/task-queue-object.ts"
import type { ObjectNamespace } from "../platform/platform.ts"

/** The longest time that one RPC call waits for a task. After it the client calls again. */
const waitMsMax = 25_000
/** Between the id that the object of the queue knows and the name of the queue. Neither contains it. */
const separator = "~"

/** The task queues behind a binding, one Durable Object for each queue. The ids of tasks end with the queue, so that each leads to its object. */
export class ObjectTasks implements TaskControl {
  readonly #namespace: ObjectNamespace

  static {
    checkArguments(this.prototype, taskArguments)
  }

  constructor(namespace: ObjectNamespace) {
    this.#namespace = namespace
  }

  async claim(queue: string, { wait = 0, signal, ...options }: ClaimOptions): Promise<readonly ClaimedActivity[]> {
    const until = Date.now() + durationMs(wait, "wait")
    while (!signal?.aborted) {
      const waitMs = Math.max(0, Math.min(until - Date.now(), waitMsMax))
      const claimed = await this.#claim(queue, { ...options, wait: waitMs, claimId: crypto.randomUUID() }, signal)
      if (claimed.length > 0 || Date.now() >= until) return claimed.map((task) => ({ ...task, id: `${task.id}${separator}${queue}` }))
    }
    return []
  }

  async heartbeat(task: TaskReference, options?: HeartbeatOptions): Promise<void> {
    await this.#askAbout(task, "heartbeat", options)
  }

  async complete(task: TaskReference, result?: unknown): Promise<void> {
    await this.#askAbout(task, "complete", result)
  }

  async fail(task: TaskReference, error: unknown, { retryable = !isNonRetryable(error) }: FailOptions = {}): Promise<void> {
    await this.#askAbout(task, "fail", error, { retryable })
  }

  /** The queue as its object knows it. Empty: it has neither tasks nor workers. */
  async queue(name: string): Promise<readonly QueueInfo[]> {
    return (await this.#ask(name, "info")) as readonly QueueInfo[]
  }

  /** Ends with an empty list when the signal aborts. What the object has given out by then goes back into the queue. */
  async #claim(queue: string, options: QueueClaimOptions, signal: AbortSignal | undefined): Promise<readonly ClaimedActivity[]> {
    const claiming = this.#ask(queue, "claim", queue, options) as Promise<readonly ClaimedActivity[]>
    if (signal === undefined) return claiming
    let onAbort: () => void = () => undefined
    const aborted = new Promise<"aborted">((resolve) => {
      onAbort = () => resolve("aborted")
      signal.addEventListener("abort", onAbort, { once: true })
    })
    const claimed = await Promise.race([claiming, aborted])
    signal.removeEventListener("abort", onAbort)
    if (claimed !== "aborted") return claimed
    void this.#withdraw(queue, options.claimId, claiming).catch(() => undefined)
    return []
  }

  /** If a call fails, the lease of the claim ends it. */
  async #withdraw(queue: string, claimId: string, claiming: Promise<readonly ClaimedActivity[]>): Promise<void> {
    await this.#ask(queue, "stopWaiting", claimId)
    const claimed = await claiming
    if (claimed.length > 0)
      await this.#ask(
        queue,
        "giveBack",
        claimed.map(({ id, token }) => ({ id, token })),
      )
  }

  async #askAbout({ id, token }: TaskReference, method: TaskQueueMethod, ...args: readonly unknown[]): Promise<void> {
    const at = id.indexOf(separator)
    // Only ids with a queue were given out here.
    if (at < 0 || at === id.length - 1) throw staleTask(id)
    try {
      await this.#ask(id.slice(at + 1), method, { id: id.slice(0, at), token }, ...args)
    } catch (error) {
      throw PerdureError.is(error, "STALE_TASK") ? staleTask(id) : error
    }
  }

  #ask(queue: string, method: TaskQueueMethod, ...args: readonly unknown[]): Promise<unknown> {
    return askTaskQueue(stubOf(this.#namespace, taskQueueName(queue)), queue, method, ...args)
  }
}
