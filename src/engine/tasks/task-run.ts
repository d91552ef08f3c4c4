import { PerdureError } from "../../core/errors.ts"
import { isCodecTrouble, storedPayload } from "../../core/values/encoded-payload.ts"
import { encodeError, encodeValue, type Encoded } from "../../core/values/value-codec.ts"
import type { PayloadCodecs } from "../../core/values/payload-codecs.ts"
import { isNonRetryable } from "../../core/workflow/retry-policy.ts"
import type { ActivityContext, AnyActivity } from "../../core/workflow/activity.ts"
import type { TaskEndingPayload } from "../../core/journal/task-ending.ts"
import type { Host, Scope } from "../../ports/host.ts"
import type { ClaimedTask, KeptClaim, TaskEnding } from "../../ports/task-store.ts"
import type { TimerHandle, Timers } from "../worker/timers.ts"

/** How long a task waits after a codec has failed. */
const codecPauseMs = 2_000

/** What a run of a task needs of the worker that has claimed the task. */
export interface TaskRunOwner {
  /** The identity of the engine, for async scopes. */
  readonly engine: object
  readonly host: Host
  readonly timers: Timers
  readonly codecs: PayloadCodecs | undefined
  readonly payloadBytesMax: number
  /** The activity has reported a heartbeat, which is not stored yet. */
  onHeartbeat(run: TaskRun): void
  /** The function has ended, or its time is over. Called once. */
  onEnd(run: TaskRun, ending: TaskEnding): void
}

/**
 * The function of an activity, as it runs for a claimed task:
 *
 *   start ──function ends──► onEnd with its result or its error
 *     ├──timeout──► onEnd with "attempt"; the signal aborts, and the function's own end is dropped
 *     └──lose──► the claim is gone: the signal aborts, and the function's end is dropped
 */
export class TaskRun implements Scope {
  readonly task: ClaimedTask
  readonly #owner: TaskRunOwner
  readonly #activity: AnyActivity
  readonly #abort = new AbortController()
  readonly #timeout: TimerHandle | undefined
  #heartbeat: KeptClaim["heartbeat"]
  #isOver = false

  constructor(owner: TaskRunOwner, task: ClaimedTask, activity: AnyActivity) {
    this.#owner = owner
    this.task = task
    this.#activity = activity
    if (task.timeoutMs !== undefined) this.#timeout = owner.timers.after(task.timeoutMs, () => this.#onTimeout())
  }

  get engine(): object {
    return this.#owner.engine
  }

  get instance(): string {
    return this.task.instance
  }

  get step(): string {
    return this.task.step
  }

  get isSensitive(): boolean {
    return this.task.sensitive === true
  }

  start(): void {
    const { host } = this.#owner
    const call = async () => {
      const { codecs } = this.#owner
      const { attempt, key, instance, details, input } = this.task
      const context: ActivityContext = {
        attempt,
        signal: this.#abort.signal,
        idempotencyKey: key,
        lastHeartbeat: details === undefined ? undefined : storedPayload(details, codecs).decode(),
        instance,
        heartbeat: (report) => this.#onHeartbeat(report),
      }
      return this.#activity.run(storedPayload(input, codecs).decode() as never, context)
    }
    host.runIn(this, call).then(
      (value) => this.#end(() => ({ value: this.#encode(value, "result") })),
      (error: unknown) => (isCodecTrouble(error) ? this.#handBackLater(error) : this.#end(() => this.#failure(error))),
    )
  }

  /** The claim has ended: the end of the function does not count any more. */
  lose(reason: unknown): void {
    this.#isOver = true
    this.#owner.timers.clear(this.#timeout)
    this.#owner.host.runIn(this, () => this.#abort.abort(reason))
  }

  /** Tells the function to stop. Its end still counts. */
  abort(reason: PerdureError): void {
    this.#owner.host.runIn(this, () => this.#abort.abort(reason))
  }

  /** Ends the attempt before its function has ended, so that another process takes it over at once. */
  handBack(reason: PerdureError): TaskEnding | undefined {
    if (this.#isOver) return undefined
    this.lose(reason)
    return this.#ending({ expired: "handedBack" })
  }

  /** The claim, with the heartbeat that is not stored yet. */
  takeKept(): KeptClaim {
    const { id, claim } = this.task
    const heartbeat = this.#heartbeat
    this.#heartbeat = undefined
    return { id, token: claim.token, ...(heartbeat && { heartbeat }) }
  }

  /** The store did not get this heartbeat. It is sent with the next one, unless that has details of its own. */
  putBack({ heartbeat }: KeptClaim): void {
    if (heartbeat) this.#heartbeat = { ...heartbeat, ...this.#heartbeat }
  }

  #onHeartbeat(details: unknown): void {
    this.#abort.signal.throwIfAborted()
    if (this.#isOver) return
    this.#heartbeat = details === undefined ? { ...this.#heartbeat } : { details: this.#encode(details, "heartbeat") }
    this.#owner.onHeartbeat(this)
  }

  #onTimeout(): void {
    const { activity, timeoutMs } = this.task
    this.#end(() => ({ expired: "attempt" }))
    this.abort(new PerdureError("STEP_TIMEOUT", `activity "${activity}" took longer than its timeout of ${timeoutMs} ms`, { details: { activity, timeoutMs } }))
  }

  #encode(value: unknown, what: string): Encoded {
    const { codecs, payloadBytesMax } = this.#owner
    const encoded = encodeValue(value, { what: `the ${what} of activity "${this.task.activity}"`, bytesMax: payloadBytesMax })
    return codecs?.encode(encoded) ?? encoded
  }

  #failure(error: unknown): TaskEndingPayload {
    const encoded = encodeError(error)
    const final = isNonRetryable(error) ? { final: true as const } : undefined
    return { error: this.#owner.codecs?.encode(encoded) ?? encoded, ...final }
  }

  #end(make: () => TaskEndingPayload): void {
    if (this.#isOver) return
    const payload = this.#made(make)
    // The function has ended, and must not run again only because a codec fails for a while.
    if (!payload) return void this.#owner.timers.after(codecPauseMs, () => this.#end(make))
    this.#isOver = true
    this.#owner.timers.clear(this.#timeout)
    this.#owner.onEnd(this, this.#ending(payload))
  }

  /** Undefined: a codec fails, which may be mended. */
  #made(make: () => TaskEndingPayload): TaskEndingPayload | undefined {
    try {
      return make()
    } catch (error) {
      if (isCodecTrouble(error)) return this.#logTrouble(error)
      // The result cannot be encoded, and would not be in another attempt either.
      return this.#made(() => ({ ...this.#failure(error), final: true }))
    }
  }

  /** The input cannot be decoded here. Another process may have the codec, so it gets the task after a while. */
  #handBackLater(error: PerdureError): void {
    this.#logTrouble(error)
    this.#owner.timers.after(codecPauseMs, () => this.#end(() => ({ expired: "handedBack" })))
  }

  #logTrouble(error: PerdureError): undefined {
    const { id, activity, instance } = this.task
    this.#owner.host.log.error(`activity "${activity}" cannot go on: ${error.message}; trying again`, { task: id, instance, code: error.code })
  }

  #ending(payload: TaskEndingPayload): TaskEnding {
    const { id, claim } = this.task
    const { details } = this.#heartbeat ?? {}
    const completes = payload.error === undefined && payload.expired === undefined
    const last = completes || details === undefined ? payload : { ...payload, details }
    return { id, token: claim.token, ending: JSON.stringify(last), completes }
  }
}
