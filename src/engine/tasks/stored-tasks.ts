import { checkArguments } from "../../core/arguments/argument.ts"
import { taskArguments } from "../../core/arguments/client-arguments.ts"
import { expiredEnding, type TaskEndingPayload } from "../../core/journal/task-ending.ts"
import { durationMs } from "../../core/time/duration.ts"
import { storedPayload } from "../../core/values/encoded-payload.ts"
import { encodeError, encodeValue, type Encoded } from "../../core/values/value-codec.ts"
import { isNonRetryable } from "../../core/workflow/retry-policy.ts"
import {
  type ClaimedActivity,
  type ClaimOptions,
  type FailOptions,
  type HeartbeatOptions,
  noTaskQueues,
  staleTask,
  type TaskControl,
  type TaskReference,
} from "../../client-api/task-control.ts"
import type { Hint } from "../../ports/store.ts"
import type { ClaimedTask, TaskRow, TaskStore } from "../../ports/task-store.ts"
import type { EngineListener } from "../engine-listener.ts"
import { randomToken } from "../random-token.ts"
import type { Worker } from "../worker/worker.ts"

/** What gives out the tasks of a store: an engine, or the object of a task queue. */
export type TaskServer = Pick<Worker, "host" | "settings" | "timers" | "hint">

/** The task queues of the store, for workers that are no engines. Their values are decoded and encoded here. */
export class StoredTasks implements TaskControl, EngineListener {
  readonly #tasks: TaskStore | undefined
  readonly #worker: TaskServer
  readonly #requireOpen: () => void
  /** Called when there may be tasks to claim. */
  readonly #waiting = new Set<() => void>()
  /** How often there may have been tasks. A claim that found none waits only if nothing has come meanwhile. */
  #wakes = 0
  readonly #announced = new Map<string, { readonly offer: string; readonly untilMs: number }>()

  static {
    checkArguments(this.prototype, taskArguments)
  }

  /** `requireOpen` throws if the engine is closed. */
  constructor(tasks: TaskStore | undefined, worker: TaskServer, requireOpen: () => void) {
    this.#tasks = tasks
    this.#worker = worker
    this.#requireOpen = requireOpen
  }

  async claim(queue: string, options: ClaimOptions): Promise<readonly ClaimedActivity[]> {
    const tasks = this.#open()
    const { host, settings } = this.#worker
    const { worker, activities, max: limit = 1, wait = 0, signal } = options
    const until = host.monotonicMs() + durationMs(wait, "wait")
    const rate = settings.queueRates.get(queue)
    const { leaseMs } = settings
    for (;;) {
      await this.#announce(tasks, queue, options)
      const wakes = this.#wakes
      const token = randomToken(host)
      const claimed = await tasks.claim({ worker, token, queues: [queue], activities, limit, leaseMs, ...(rate && { rate }) })
      if (claimed.length > 0) return this.#handOut(claimed, signal)
      const leftMs = Math.min(until - host.monotonicMs(), leaseMs / 3, settings.sweepMs, rate?.perMs ?? Infinity)
      if (leftMs <= 0 || signal?.aborted) return []
      if (wakes === this.#wakes) await this.#wake(leftMs, signal)
      this.#requireOpen()
    }
  }

  async heartbeat({ id, token }: TaskReference, { details, renew = false }: HeartbeatOptions = {}): Promise<void> {
    const tasks = this.#open()
    const heartbeat = details === undefined ? {} : { details: this.#encode(details, `the heartbeat of task "${id}"`) }
    const [outcome] = await tasks.keep([{ id, token, ...(renew ? undefined : { heartbeat }) }], this.#worker.settings.leaseMs)
    if (outcome === "gone") throw staleTask(id)
  }

  async complete(task: TaskReference, result?: unknown): Promise<void> {
    await this.#finish(task, ({ activity }) => ({ value: this.#encode(result, `the result of activity "${activity}"`) }))
  }

  async fail(task: TaskReference, error: unknown, { retryable = !isNonRetryable(error) }: FailOptions = {}): Promise<void> {
    const encoded = encodeError(error)
    await this.#finish(task, () => ({ error: this.#worker.settings.codecs?.encode(encoded) ?? encoded, ...(retryable ? undefined : { final: true as const }) }))
  }

  /** Ends claims of which nothing has run, so that other workers can take the tasks at once. `instance`: whose task it is, if the caller knows. */
  async giveBack(tasks: readonly (TaskReference & { readonly instance?: string })[]): Promise<void> {
    await this.#open().finish(tasks.map(({ id, token }) => ({ id, token, ending: expiredEnding("handedBack"), completes: false })))
    this.#worker.hint([...new Set(tasks.flatMap(({ instance }) => instance ?? []))])
  }

  onHint({ tasks, work }: Hint): void {
    if (tasks ?? work === true) this.onTasks()
  }

  /** There may be tasks to claim. */
  onTasks(): void {
    this.#wakes++
    for (const wake of [...this.#waiting]) wake()
  }

  /** The engine is closing: all who wait get its error. */
  close(): void {
    this.onTasks()
  }

  #open(): TaskStore {
    this.#requireOpen()
    if (this.#tasks === undefined) throw noTaskQueues()
    return this.#tasks
  }

  /** Resolves when there may be tasks, after this time, or when the signal is aborted. */
  #wake(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { timers } = this.#worker
    return new Promise((resolve) => {
      const wake = () => {
        timers.clear(timer)
        this.#waiting.delete(wake)
        signal?.removeEventListener("abort", wake)
        resolve()
      }
      const timer = timers.after(ms, wake)
      this.#waiting.add(wake)
      signal?.addEventListener("abort", wake, { once: true })
    })
  }

  /** Tells other processes what the worker serves: when it begins to, when that changes, and before the last announcement ends. */
  async #announce(tasks: TaskStore, queue: string, { worker, activities }: ClaimOptions): Promise<void> {
    const { host, settings } = this.#worker
    const nowMs = host.monotonicMs()
    const offer = JSON.stringify([queue, activities])
    const last = this.#announced.get(worker)
    if (last?.offer === offer && last.untilMs - nowMs > settings.leaseMs / 2) return
    for (const [name, { untilMs }] of this.#announced) if (untilMs < nowMs) this.#announced.delete(name)
    this.#announced.set(worker, { offer, untilMs: nowMs + settings.leaseMs })
    await tasks.announce({ worker, queues: [queue], activities }, settings.leaseMs)
  }

  /** The worker gets the tasks, unless it has gone away meanwhile, or their values cannot be decoded: then other workers can claim them at once. */
  async #handOut(claimed: readonly ClaimedTask[], signal: AbortSignal | undefined): Promise<readonly ClaimedActivity[]> {
    try {
      if (!signal?.aborted) return claimed.map((task) => this.#activityOf(task))
    } catch (error) {
      await this.giveBack(claimed.map(({ id, claim, instance }) => ({ id, token: claim.token, instance })))
      throw error
    }
    await this.giveBack(claimed.map(({ id, claim, instance }) => ({ id, token: claim.token, instance })))
    return []
  }

  #activityOf({ id, key, claim, activity, queue, attempt, input, details, instance, step, timeoutMs, heartbeatMs }: ClaimedTask): ClaimedActivity {
    const { settings } = this.#worker
    const decode = (stored: Encoded) => storedPayload(stored, settings.codecs).decode()
    const given = decode(input)
    return {
      id,
      token: claim.token,
      activity,
      queue,
      attempt,
      ...(given === undefined ? undefined : { input: given }),
      ...(details === undefined ? undefined : { lastHeartbeat: decode(details) }),
      instance,
      step,
      idempotencyKey: key,
      leaseMs: settings.leaseMs,
      ...(timeoutMs === undefined ? undefined : { timeoutMs }),
      ...(heartbeatMs === undefined ? undefined : { heartbeatTimeoutMs: heartbeatMs }),
    }
  }

  #encode(value: unknown, what: string): Encoded {
    const { codecs, limits } = this.#worker.settings
    const encoded = encodeValue(value, { what, bytesMax: limits.payloadBytesMax })
    return codecs?.encode(encoded) ?? encoded
  }

  async #finish({ id, token }: TaskReference, payloadOf: (task: TaskRow) => TaskEndingPayload): Promise<void> {
    const tasks = this.#open()
    const [task] = await tasks.find([id])
    if (task?.claim?.token !== token) throw staleTask(id)
    const payload = payloadOf(task)
    const [outcome] = await tasks.finish([{ id, token, ending: JSON.stringify(payload), completes: payload.error === undefined }])
    if (outcome === "gone") throw staleTask(id)
    this.#worker.hint([task.instance])
  }
}
