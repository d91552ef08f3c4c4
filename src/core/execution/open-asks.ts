import type { AskRequest, WaitAsk } from "./ask.ts"
import { Deferred } from "./deferred.ts"
import type { CancelledError } from "../errors.ts"
import type { ChildLink } from "../journal/journal.ts"
import { SmallMap } from "../collections/small-map.ts"
import { PendingAsk } from "./ask-settlement.ts"

/**
 * The asks of workflow code that have not settled:
 *
 *   add ──► fresh ──accept (recorded)──► open ──take (an entry settles it)──► gone
 *             └──withdraw──► gone          └──withdraw (the code's signal aborted it)──► gone
 */
export class OpenAsks {
  /** Asks that are not recorded yet, in call order. */
  readonly fresh = new SmallMap<OpenAsk>()
  readonly #open = new SmallMap<OpenAsk>()
  /** Asks that the code gave up before they were recorded. The live run may have recorded them, because its timing was different. */
  #withdrawn: Set<string> | undefined = undefined
  /** Called when a step is recorded as started. It is set only if the workflow also rolls back steps that did not complete. */
  onStepStarted: ((ask: OpenAsk) => void) | undefined = undefined
  /** Whether the code has ever asked for a condition. Most workflows never do, so no list is searched for them. */
  #hasConditions = false

  get size(): number {
    return this.#open.size + this.fresh.size
  }

  /** The conditions that the code waits for, in call order. */
  conditions(): readonly WaitAsk[] {
    if (!this.#hasConditions) return none
    const conditions: WaitAsk[] = []
    for (const { request } of this.#open.values()) if (request.kind === "wait" && request.until) conditions.push(request)
    return conditions
  }

  add(request: AskRequest): OpenAsk {
    const ask = new OpenAsk(request)
    if (request.kind === "wait" && request.until) this.#hasConditions = true
    this.fresh.set(request.id, ask)
    return ask
  }

  /** Marks an ask as recorded at a position. `missing`: the code has not asked for it yet. `asked`: the code has asked for something else under this id. */
  accept(id: string, kind: AskRequest["kind"], position: number, event?: string, child?: ChildLink): "accepted" | "missing" | { readonly asked: string } {
    const ask = this.fresh.get(id)
    if (ask === undefined) return this.#acceptAgain(id)
    if (ask.request.kind !== kind) return { asked: describeAsk(ask.request) }
    if (ask.request.kind === "wait" && ask.request.event !== event) return { asked: describeAsk(ask.request) }
    if (ask.request.kind === "do") {
      if ((ask.request.child === undefined) !== (child === undefined)) return { asked: describeAsk(ask.request) }
      if (ask.request.child && child) ask.request.child.link = child
    }
    ask.position = position
    ask.isAttemptRunning = true
    ask.attempts = 1
    this.fresh.delete(id)
    this.#open.set(id, ask)
    if (kind === "do") this.onStepStarted?.(ask)
    return "accepted"
  }

  /** Accepts a further attempt of an open step, or an ask that the code gave up. */
  #acceptAgain(id: string): "accepted" | "missing" {
    const open = this.#open.get(id)
    if (open) {
      open.isAttemptRunning = true
      open.attempts++
    }
    return open || this.#withdrawn?.has(id) ? "accepted" : "missing"
  }

  /** The step's attempt has failed and the next one has not started yet. */
  retrying(id: string): void {
    const open = this.#open.get(id)
    if (open) open.isAttemptRunning = false
  }

  /** The open ask with this id, as the code made it. */
  request(id: string): AskRequest | undefined {
    return this.#open.get(id)?.request
  }

  /** Removes and returns the open ask with this id. */
  take(id: string): OpenAsk | undefined {
    const ask = this.#open.get(id)
    this.#forget(id)
    return ask
  }

  /** Removes an ask that the code gave up. `recorded`: the ask is in the journal, so giving it up has to be recorded too. Undefined: it had settled. */
  withdraw(ask: OpenAsk): { readonly recorded: boolean } | undefined {
    const { id } = ask.request
    const recorded = this.#open.get(id) === ask
    if (!recorded && this.fresh.get(id) !== ask) return undefined
    if (!recorded) (this.#withdrawn ??= new Set()).add(id)
    this.#forget(id)
    return { recorded }
  }

  /** A copy of all asks: recorded ones first, then fresh ones. */
  all(): readonly OpenAsk[] {
    return [...this.#open.values(), ...this.fresh.values()]
  }

  /** Whether an attempt is running of a step that has a rollback. */
  get hasUndoable(): boolean {
    return this.#open.some(({ request, isAttemptRunning }) => isAttemptRunning && request.kind === "do" && request.options?.rollback !== undefined)
  }

  /** Removes recorded asks that no entry will settle. An unwinding that waits for their attempts goes on. */
  drop(): void {
    for (const ask of this.#open.values()) ask.attemptEnded?.resolve(undefined)
    this.#open.clear()
  }

  /** Removes all asks. Their promises stay pending. */
  clear(): void {
    this.#open.clear()
    this.fresh.clear()
  }

  /** Gives up all asks but steps with a running attempt. `running` resolves as those attempts end. `aborted` names the recorded asks that were given up. */
  giveUpAllButRunning(): { readonly running: readonly Promise<unknown>[]; readonly aborted: readonly string[] } {
    for (const ask of this.fresh.values()) this.withdraw(ask)
    const abandoned = this.#open.values().filter((ask) => ask.request.kind !== "do" || !ask.isAttemptRunning)
    for (const { request } of abandoned) this.#open.delete(request.id)
    const running = this.#open.values().map((ask) => (ask.attemptEnded = new Deferred()).promise)
    return { running, aborted: abandoned.map(({ request }) => request.id) }
  }

  #forget(id: string): void {
    this.#open.delete(id)
    this.fresh.delete(id)
  }
}

export class OpenAsk extends PendingAsk {
  /** The position of the recorded ask; 0 until it is recorded. */
  position = 0
  /** How many attempts are recorded as started. */
  attempts = 0
  /** For a step: an attempt was started and has not ended. */
  isAttemptRunning = false
  /** The error of a cancel that came while an attempt was running. The promise rejects with it when the attempt ends. */
  cancelled: CancelledError | undefined = undefined
  /** Set when the code has ended while an attempt was running. The ask's own promise stays pending; the unwinding waits for this promise. */
  attemptEnded: Deferred | undefined = undefined
}

export function describeAsk(ask: AskRequest): string {
  if (ask.kind === "do") return `${ask.child ? "child" : ask.activity ? "activity" : "step"} "${ask.id}"`
  if (ask.kind === "sleep") return `sleep "${ask.id}"`
  return describeWait(ask.id, ask.event)
}

export function describeWait(id: string, event: string | undefined): string {
  return event === undefined ? `condition "${id}"` : `wait "${id}" for event "${event}"`
}

const none: readonly never[] = []
