import type { AskRequest } from "./ask.ts"
import type { Payload } from "./codec.ts"
import type { InstanceInfo, WorkflowLog } from "./context.ts"
import { tooManySteps, CancelledError } from "./errors.ts"
import type { Recorded, Release } from "./journal.ts"
import type { Limits } from "./limits.ts"
import { SmallMap } from "./small-map.ts"
import { PendingAsk, reject, settle, type Settling } from "./settlement.ts"
import type { AnyWorkflow } from "./workflow.ts"
import { WorkflowContext, type ContextSource } from "./workflow-context.ts"

/**
 * Workflow code and its journal. The code asks; whoever drives the execution records each ask (`accept`), does it, records
 * what came out and releases that entry (`release`), which settles one promise. Live execution and replay are this one path:
 * a driver releases exactly one entry, lets a macrotask pass, and looks at `fresh` and `outcome`.
 *
 * Suspension is a promise left pending. Nothing here does I/O, reads a clock or draws a random number.
 */
export class Execution implements ContextSource {
  /** Asks that are not recorded yet, in call order. */
  readonly fresh = new SmallMap<OpenAsk>()
  /** Recorded asks that the code itself gave up through a signal, to be recorded. */
  aborted: string[] = []
  outcome: Outcome | undefined = undefined
  /** Log lines of workflow code are silent while this is set. */
  replaying = false
  /** The time of the last entry seen. */
  now = 0
  lastAsked: string | undefined = undefined

  readonly #spec: ExecutionSpec
  readonly #open = new SmallMap<OpenAsk>()
  /** Asks that the code gave up before they were recorded; on replay with other timing they may be recorded all the same. */
  #withdrawn: Set<string> | undefined = undefined
  #cancelling: AbortController | undefined
  #cancelled: CancelledError | undefined
  #asks = 0

  constructor(spec: ExecutionSpec) {
    this.#spec = spec
  }

  get hasOpenAsks(): boolean {
    return this.#open.size > 0 || this.fresh.size > 0
  }

  /** Takes note that an ask is recorded at a position. `missing`: the code has not asked for it (yet). */
  accept(id: string, kind: AskRequest["kind"], position: number, event?: string): "accepted" | "missing" | { readonly asked: string } {
    const ask = this.fresh.get(id)
    if (ask === undefined) return this.#again(id)
    if (ask.request.kind !== kind) return { asked: describeAsk(ask.request) }
    if (ask.request.kind === "wait" && ask.request.event !== event) return { asked: describeAsk(ask.request) }
    ask.position = position
    ask.underWay = true
    this.fresh.delete(id)
    this.#open.set(id, ask)
    return "accepted"
  }

  /** A further attempt of an open step, or an ask that the code is through with. */
  #again(id: string): "accepted" | "missing" {
    const open = this.#open.get(id)
    if (open) open.underWay = true
    return open || this.#withdrawn?.has(id) ? "accepted" : "missing"
  }

  /** The step's attempt failed and another is to follow: nothing of it is under way until then. */
  retrying(id: string): void {
    const open = this.#open.get(id)
    if (open) open.underWay = false
  }

  /** That the code gave it up is in the journal. */
  recordedAborted(id: string): void {
    if (this.aborted.includes(id)) this.aborted = this.aborted.filter((other) => other !== id)
  }

  /** What the code asked for under this id, while it is open. */
  request(id: string): AskRequest | undefined {
    return this.#open.get(id)?.request
  }

  /** Releases one entry to the code. `payload` is what a completed wait received. */
  release({ entry, at, position }: Recorded<Release>, payload?: Payload): void {
    this.now = at
    switch (entry.type) {
      case "run.started":
        // A delayed one was written long before it begins.
        this.now = Math.max(at, entry.startAt ?? 0)
        return this.#begin(entry.value.decode())
      case "cancel.requested":
        return this.#cancel(position, entry.reason)
      default:
        return this.#settle(entry, payload)
    }
  }

  #begin(input: unknown): void {
    const context = new WorkflowContext(this, this.#spec.workflow.options.duplicateSteps ?? "number", this.#spec.limits)
    this.#spec.enter(() => {
      new Promise((resolve) => resolve(this.#spec.workflow.run(context, input))).then(
        (value) => this.#end({ ok: true, value }),
        (error: unknown) => this.#end({ ok: false, error }),
      )
    })
  }

  #end(outcome: Outcome): void {
    this.outcome = outcome
    this.#spec.onActivity()
  }

  /**
   * At the position of a cancel, open sleeps and waits reject, and attempts under way will reject when they end. What the
   * code asked for but is not recorded counts as later: sleeps and waits reject at once, steps still work.
   */
  #cancel(position: number, reason: string | undefined): void {
    const cancelled = new CancelledError(this.#spec.info.id, reason)
    this.#cancelled = cancelled
    for (const ask of [...this.#open.values(), ...this.fresh.values()]) {
      const recordedBefore = ask.position > 0 && ask.position < position
      if (ask.request.kind === "do") {
        if (!recordedBefore) continue
        ask.cancelled = cancelled
        if (ask.underWay) continue
      }
      this.#forget(ask.request.id)
      reject(ask, cancelled)
    }
    this.#cancelling?.abort(cancelled)
  }

  #settle(entry: Settling, payload: Payload | undefined): void {
    const ask = this.#open.get(entry.id)
    if (ask === undefined) return
    this.#forget(entry.id)
    if (ask.cancelled) reject(ask, ask.cancelled)
    else settle(ask, entry, payload)
  }

  #forget(id: string): void {
    this.#open.delete(id)
    this.fresh.delete(id)
  }

  readonly ask = (request: AskRequest): Promise<unknown> => {
    const spec = this.#spec
    spec.guard()
    if (++this.#asks > spec.limits.stepsMax) throw tooManySteps(spec.limits.stepsMax)
    this.lastAsked = request.id
    if (request.kind !== "do") {
      if (this.#cancelled) throw this.#cancelled
      if (request.signal?.aborted) throw request.signal.reason
    }
    const ask = new OpenAsk(request)
    this.fresh.set(request.id, ask)
    if (request.kind !== "do") request.signal?.addEventListener("abort", () => this.#abort(ask), { once: true })
    spec.onActivity()
    return ask.promise
  }

  #abort(ask: OpenAsk): void {
    const { id, kind } = ask.request
    if (kind === "do") return
    if (this.#open.get(id) === ask) this.aborted.push(id)
    else if (this.fresh.get(id) === ask) (this.#withdrawn ??= new Set()).add(id)
    else return
    this.#forget(id)
    reject(ask, (ask.request as { signal: AbortSignal }).signal.reason)
    this.#spec.onActivity()
  }

  /** Made when first looked at: most workflows never do. */
  get signal(): AbortSignal {
    if (!this.#cancelling) {
      this.#cancelling = new AbortController()
      if (this.#cancelled) this.#cancelling.abort(this.#cancelled)
    }
    return this.#cancelling.signal
  }

  get instance(): InstanceInfo {
    return this.#spec.info
  }

  say(level: keyof WorkflowLog, message: string, data?: Record<string, unknown>): void {
    if (!this.replaying) this.#spec.log[level](message, { instance: this.#spec.info.id, ...data })
  }
}

export interface ExecutionSpec {
  readonly workflow: AnyWorkflow
  readonly info: InstanceInfo
  readonly limits: Limits
  readonly log: WorkflowLog
  /** Runs workflow code in its scope. */
  enter(run: () => void): void
  /** Throws where asking is wrong, such as inside a step. */
  guard(): void
  /** Something was asked for, given up or came to its end. */
  onActivity(): void
}

export type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

export class OpenAsk extends PendingAsk {
  /** 0 until it is recorded. */
  position = 0
  /** An attempt was begun and has not ended. */
  underWay = false
  cancelled: CancelledError | undefined = undefined
}

export function describeAsk(ask: AskRequest): string {
  if (ask.kind === "do") return `step "${ask.id}"`
  return ask.kind === "sleep" ? `sleep "${ask.id}"` : `wait "${ask.id}" for event "${ask.event}"`
}
