import { PerdureError } from "../../core/errors.ts"
import { storedPayload } from "../../core/values/encoded-payload.ts"
import { encodeValue } from "../../core/values/value-codec.ts"
import type { ActivityContext } from "../../core/workflow/activity.ts"
import type { StepAttempt } from "../steps/step-attempt.ts"
import type { RunnerContext } from "../runner/runner-context.ts"
import { MovableTimer } from "../worker/timers.ts"

/**
 * Runs an activity where its workflow runs, as the function of a step. Heartbeats are kept in memory; the entry of a failed attempt records the last one.
 */
export async function runInPlace(context: RunnerContext, attempt: StepAttempt): Promise<unknown> {
  const { ask } = attempt
  const { name, input, heartbeatMs } = ask.activity ?? { name: "", input: undefined, heartbeatMs: undefined }
  const { activities, timers, settings } = context
  const activity = activities.find(name)
  if (!activity || !input) {
    attempt.isFutile = true
    throw new PerdureError("UNKNOWN_ACTIVITY", `this engine has no activity "${name}"; pass it to the engine in activities: […]`, {
      details: { activity: name },
    })
  }
  let fail: (error: PerdureError) => void = () => undefined
  const silent = new Promise<never>((_, reject) => (fail = reject))
  silent.catch(() => undefined)
  const timer = new MovableTimer(timers, () => {
    const error = new PerdureError("STEP_TIMEOUT", `activity "${ask.id}" sent no heartbeat for ${heartbeatMs} ms`, {
      details: { step: ask.id, timeoutMs: heartbeatMs },
    })
    fail(error)
    attempt.abort(error)
  })
  const expectHeartbeat = () => {
    if (heartbeatMs !== undefined && !attempt.isOver) timer.setAfter(heartbeatMs)
  }
  const activityContext = new InPlaceContext(
    context,
    attempt,
    (details) => {
      const encoded = encodeValue(details, { what: `the heartbeat of activity "${name}"`, bytesMax: settings.limits.payloadBytesMax })
      attempt.open.details = settings.codecs?.encode(encoded) ?? encoded
    },
    expectHeartbeat,
  )
  expectHeartbeat()
  try {
    return await Promise.race([activity.run(input.decode() as never, activityContext), silent])
  } finally {
    timer.clear()
  }
}

class InPlaceContext implements ActivityContext {
  readonly lastHeartbeat: unknown
  readonly #attempt: StepAttempt
  readonly #report: (details: unknown) => void
  readonly #onHeartbeat: () => void

  constructor({ settings }: RunnerContext, attempt: StepAttempt, report: (details: unknown) => void, onHeartbeat: () => void) {
    this.#attempt = attempt
    this.#report = report
    this.#onHeartbeat = onHeartbeat
    const { details } = attempt.open
    this.lastHeartbeat = details === undefined ? undefined : storedPayload(details, settings.codecs).decode()
  }

  get attempt(): number {
    return this.#attempt.number
  }

  get signal(): AbortSignal {
    return this.#attempt.signal
  }

  get idempotencyKey(): string {
    return this.#attempt.idempotencyKey
  }

  get instance(): string {
    return this.#attempt.instance
  }

  readonly heartbeat = (details?: unknown): void => {
    this.signal.throwIfAborted()
    // What is left of an attempt that has ended must not speak for the next one.
    if (this.#attempt.isOver) return
    if (details !== undefined) this.#report(details)
    this.#onHeartbeat()
  }
}
