import type { AskRequest, DoAsk } from "../../core/execution/ask.ts"
import { CancelledError, PerdureError, tooManySteps } from "../../core/errors.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { Recorded, Release } from "../../core/journal/journal.ts"
import { SmallMap } from "../../core/collections/small-map.ts"
import { PendingAsk, settle, type SettlingEntry } from "../../core/execution/ask-settlement.ts"
import { parentOf } from "../../core/workflow/step-id.ts"
import type { StepAttempt } from "./step-attempt.ts"
import type { StepAttempts } from "./step-attempts.ts"

/**
 * The asks of step functions inside their steps: nested steps, sleeps and waits. A nested ask is answered by its id, outside the release order: from the
 * journal if its result is there, otherwise as soon as its result is durable. After a crash the outer function runs again as the same attempt. Its
 * nested asks then find their results in the journal, or wait for those that are still open.
 */
export class NestedSteps {
  readonly #state: InstanceState
  readonly #waiters = new SmallMap<Waiter[]>()
  readonly #attempts: StepAttempts
  /** Steps whose retry became due before their outer function asked for them again. */
  readonly #retriesDue = new Set<string>()
  /** Asks that arrived while the instance was paused. */
  #deferred: AskRequest[] = []

  constructor(state: InstanceState, attempts: StepAttempts) {
    this.#state = state
    this.#attempts = attempts
  }

  ask(outer: StepAttempt, request: AskRequest): Promise<unknown> {
    const stopped = this.#attempts.stoppedFor(request)
    if (stopped) throw stopped
    if (request.kind !== "do" && request.signal?.aborted) throw request.signal.reason
    const waiter = new Waiter(request, outer)
    const recorded = this.#state.nested.get(request.id)
    if (!recorded && this.isClosedByCancel(request)) throw new CancelledError(this.#attempts.instance, this.#state.cancel?.reason)
    if (recorded && this.#attempts.isDurable(recorded.position)) {
      const problem = disagreement(request, recorded.entry.type)
      if (problem) throw problem
      settle(waiter, recorded.entry as SettlingEntry, this.#received(recorded))
      return waiter.promise
    }
    const others = this.#waiters.get(request.id)
    if (others) others.push(waiter)
    else this.#waiters.set(request.id, [waiter])
    outer.onNestedAsk()
    if (request.kind !== "do") {
      outer.suspend()
      request.signal?.addEventListener("abort", () => this.#abort(waiter), { once: true })
    }
    if (!recorded) this.#attempts.submit(request)
    return waiter.promise
  }

  /** Handles an ask as an input of the runner's loop. */
  handle(request: AskRequest): void {
    const { steps, sleeps, waits, nested } = this.#state
    // The outer step is over, and its nested asks end with it.
    if (!steps.has(parentOf(request.id) ?? "")) return
    // The result was recorded while this input was queued. `settle` delivers it when it is durable.
    if (nested.has(request.id)) return
    // A cancel was recorded while this input was queued, and rejects the ask.
    if (this.isClosedByCancel(request)) return
    const stopped = this.#attempts.stoppedFor(request)
    if (stopped) return this.refuse(request.id, stopped)
    if (this.#state.isPaused) return this.#defer(request)
    const open = steps.get(request.id)
    if (open && request.kind === "do") {
      if (this.#retriesDue.delete(request.id)) this.#attempts.begin(request, open.attempt + 1)
      else if (open.retryAt === undefined && !this.#attempts.isLive(request.id)) this.#attempts.reenter(request, open)
      return
    }
    if (sleeps.has(request.id) || waits.has(request.id)) return
    const { stepsMax } = this.#attempts
    if (this.#state.asked < stepsMax) this.#attempts.recordAsk(request)
    else this.refuse(request.id, tooManySteps(stepsMax))
  }

  /** Nothing new begins while the instance is paused. The ask waits, and so does its function. */
  #defer(request: AskRequest): void {
    const wasWorking = this.#state.isWorking
    this.#deferred.push(request)
    // The asked step may be open already, with steps inside it: it began before a crash, or its retry is due.
    const [outer, inside] = [parentOf(request.id), `${request.id}/`]
    for (const step of this.#state.steps.values()) if (step.id === outer || step.id === request.id || step.id.startsWith(inside)) step.isHeldByPause = true
    // Now all steps wait, so the instance changes from pausing to paused. An entry is needed, because the row changes with a turn only.
    if (wasWorking && !this.#state.isWorking) this.#attempts.recordPaused("the steps under way wait for steps inside them")
  }

  /** The deferred asks begin now. */
  resume(): void {
    for (const request of this.takeDeferred()) this.#attempts.submit(request)
  }

  takeDeferred(): readonly AskRequest[] {
    const held = this.#deferred
    this.#deferred = []
    return held
  }

  retryWhenAsked(id: string): void {
    this.#retriesDue.add(id)
  }

  /** The latest ask for a nested step: it has the function to run. */
  request(id: string): DoAsk | undefined {
    const request = this.#waiters.get(id)?.at(-1)?.request
    return request?.kind === "do" ? request : undefined
  }

  /** Delivers a durable result. */
  settle(recorded: Recorded<Release>): void {
    const entry = recorded.entry as SettlingEntry
    const received = this.#received(recorded)
    for (const waiter of this.#removeWaiters(entry.id)) waiter.outer.deliver(() => settle(waiter, entry, received))
  }

  /** Rejects the sleeps, waits and retries that a cancel has closed, and the deferred asks. */
  cancel(error: CancelledError, deferred: readonly AskRequest[] = []): void {
    for (const id of this.#waiters.keys()) {
      const waiters = this.#waiters.get(id) ?? []
      if (waiters[0] && this.isClosedByCancel(waiters[0].request))
        for (const waiter of this.#removeWaiters(id)) waiter.outer.deliver(() => waiter.reject(error))
    }
    for (const { id } of deferred) this.refuse(id, error)
  }

  /** Gives up sleeps, waits and retries, because the instance is rolled back. Running functions may still end, and their ends count. */
  stop(error: unknown): void {
    const { steps, sleeps, waits } = this.#state
    for (const id of this.#waiters.keys()) {
      const isOpen = sleeps.has(id) || waits.has(id) || steps.get(id)?.retryAt !== undefined
      if (!isOpen) continue
      this.#attempts.abort(id)
      this.refuse(id, error)
    }
  }

  /** Rejects an ask: it will not be done. */
  refuse(id: string, error: unknown): void {
    for (const waiter of this.#removeWaiters(id)) waiter.outer.deliver(() => waiter.reject(error))
  }

  /** A cancel has closed this ask. It closes sleeps, waits, and steps that wait for a retry. Other steps continue. */
  isClosedByCancel({ kind, id }: AskRequest): boolean {
    const { cancel } = this.#state
    return cancel !== undefined && (kind !== "do" || cancel.retrying.some((step) => step.id === id))
  }

  #abort(waiter: Waiter): void {
    const { id } = waiter.request
    const waiters = this.#waiters.get(id)
    // The result is recorded already, and its delivery wins against the abort.
    if (!waiters?.includes(waiter) || this.#state.nested.has(id)) return
    this.#removeWaiters(id)
    this.#attempts.abort(id)
    waiter.outer.deliver(() => waiter.reject((waiter.request as { signal: AbortSignal }).signal.reason))
  }

  #removeWaiters(id: string): readonly Waiter[] {
    const waiters = this.#waiters.get(id) ?? []
    this.#waiters.delete(id)
    for (const { request, outer } of waiters) if (request.kind !== "do") outer.resume()
    return waiters
  }

  #received(recorded: Recorded<Release>) {
    const { entry } = recorded
    return entry.type === "wait.completed" && entry.from !== undefined ? this.#state.received(entry.from) : undefined
  }
}

class Waiter extends PendingAsk {
  readonly outer: StepAttempt

  constructor(request: AskRequest, outer: StepAttempt) {
    super(request)
    this.outer = outer
  }
}

function disagreement(request: AskRequest, type: string): PerdureError | undefined {
  const kind = type.startsWith("step.") ? "do" : type.startsWith("sleep.") ? "sleep" : "wait"
  if (kind === request.kind) return undefined
  return new PerdureError(
    "JOURNAL_MISMATCH",
    `nested step "${request.id}" is recorded as ${kind} and is asked for as ${request.kind} now; deploy the code that recorded it`,
    { details: { step: request.id } },
  )
}
