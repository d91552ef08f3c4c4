import { PerdureError } from "../core/errors.ts"
import type { ActivityContext, AnyActivity } from "../core/workflow/activity.ts"
import type { ClaimedActivity, TaskControl } from "../client-api/task-control.ts"
import { type RetryPacing, sleep } from "./retry-pacing.ts"

/** Heartbeats that come together are sent together, this long after the first one. */
const heartbeatMs = 100
const retryMs = 1_000
/** The server did not answer, or is closing: the request is made again. */
const passing = new Set<string>(["UNREACHABLE", "ENGINE_CLOSED", "STORE_UNREACHABLE", "DATABASE_BUSY"])

export interface RunOwner {
  readonly tasks: TaskControl
  readonly pace: RetryPacing
  /** Aborted when nothing is sent any more. */
  readonly signal: AbortSignal
  onError(error: unknown): void
}

/**
 * The function of an activity, as it runs for a task of a server. While it runs, the claim is renewed every third of its lease. It ends with one request,
 * which is sent until the server answers. If the claim is over, the signal of the function is aborted, and its end is dropped.
 */
export class ActivityRun {
  readonly #task: ClaimedActivity
  readonly #owner: RunOwner
  readonly #abort = new AbortController()
  /** What the activity has reported, and what is not sent yet. */
  #heartbeat: { readonly details?: unknown } | undefined
  #sending = Promise.resolve()
  #cancelTimers: (() => void)[] = []
  #cancelHeartbeat: (() => void) | undefined
  #isOver = false

  constructor(owner: RunOwner, task: ClaimedActivity) {
    this.#owner = owner
    this.#task = task
  }

  /** Resolves when the server knows the end, or the claim is over. */
  async run(activity: AnyActivity): Promise<void> {
    const { attempt, idempotencyKey, instance, input, lastHeartbeat, leaseMs, timeoutMs } = this.#task
    this.#every(leaseMs / 3, () => this.#send(true))
    if (timeoutMs !== undefined) this.#cancelTimers.push(this.#owner.pace.after(timeoutMs, () => this.#onTimeout()))
    const context: ActivityContext = {
      attempt,
      signal: this.#abort.signal,
      idempotencyKey,
      instance,
      lastHeartbeat,
      heartbeat: (details) => this.#onHeartbeat(details),
    }
    try {
      const result = await activity.run(input as never, context)
      await this.#end((tasks) => tasks.complete(this.#task, result))
    } catch (error) {
      await this.#end((tasks) => tasks.fail(this.#task, error))
    } finally {
      this.#stop()
    }
  }

  /** The worker is closing: the function is told to stop, and its end is dropped. */
  lose(reason: PerdureError): void {
    this.#stop()
    this.#abort.abort(reason)
  }

  #stop(): void {
    this.#isOver = true
    this.#cancelHeartbeat?.()
    for (const cancel of this.#cancelTimers.splice(0)) cancel()
  }

  #every(ms: number, act: () => void): void {
    const at = this.#cancelTimers.length
    const again = () => {
      this.#cancelTimers[at] = this.#owner.pace.after(ms, () => {
        act()
        again()
      })
    }
    again()
  }

  #onHeartbeat(details: unknown): void {
    this.#abort.signal.throwIfAborted()
    if (this.#isOver) return
    this.#heartbeat = details === undefined ? { ...this.#heartbeat } : { details }
    this.#cancelHeartbeat ??= this.#owner.pace.after(heartbeatMs, () => this.#send(false))
  }

  /** The server ends the attempt by itself when its time is over. */
  #onTimeout(): void {
    const { activity, timeoutMs } = this.#task
    this.lose(new PerdureError("STEP_TIMEOUT", `activity "${activity}" took longer than its timeout of ${timeoutMs} ms`, { details: { activity, timeoutMs } }))
  }

  /** Sends what the activity has reported. If it has reported nothing, the claim is only kept. */
  #send(isRenewal: boolean): void {
    this.#cancelHeartbeat?.()
    this.#cancelHeartbeat = undefined
    const heartbeat = this.#heartbeat
    this.#heartbeat = undefined
    if (this.#isOver || (heartbeat === undefined && !isRenewal)) return
    this.#sending = this.#sending
      .then(() => this.#owner.tasks.heartbeat(this.#task, heartbeat ?? { renew: true }))
      .catch((error: unknown) => {
        if (this.#isOver) return
        if (PerdureError.is(error, "STALE_TASK")) return this.lose(error)
        this.#heartbeat = { ...heartbeat, ...this.#heartbeat }
        this.#owner.onError(error)
      })
  }

  /** Sends the end, after the last heartbeat, whose details the next attempt gets. */
  async #end(call: (tasks: TaskControl) => Promise<void>): Promise<void> {
    this.#send(false)
    await this.#sending
    const { tasks, signal, pace } = this.#owner
    while (!this.#isOver && !signal.aborted) {
      try {
        return await call(tasks)
      } catch (error) {
        if (PerdureError.is(error, "STALE_TASK")) return
        this.#owner.onError(error)
        // A result that cannot be sent, or that the server refuses, would not be accepted after another attempt either.
        if (!PerdureError.is(error) || !passing.has(error.code)) return await this.#end((again) => again.fail(this.#task, error, { retryable: false }))
        await sleep(pace, retryMs, signal).catch(() => undefined)
      }
    }
  }
}
