import type { AskRequest, WaitAsk } from "./ask.ts"
import { Deferred } from "./deferred.ts"
import type { CancelledError } from "../errors.ts"
import type { ChildLink } from "../journal/journal.ts"
import { SmallMap } from "../collections/small-map.ts"
import { PendingAsk } from "./ask-settlement.ts"

/** What workflow code has asked for and has not got: first fresh, then, once it is recorded, open. */
export class OpenAsks {
  /** Not recorded yet, in call order. */
  readonly fresh = new SmallMap<OpenAsk>()
  readonly #open = new SmallMap<OpenAsk>()
  /** Given up before they were recorded; on replay with other timing they may be recorded all the same. */
  #withdrawn: Set<string> | undefined = undefined
  /** Called when a step is recorded as started; set only where the workflow undoes steps that have started. */
  onStepStarted: ((ask: OpenAsk) => void) | undefined = undefined
  /** The code has asked for a condition: most never do. */
  #hasConditions = false

  get size(): number {
    return this.#open.size + this.fresh.size
  }

  /** Conditions that the code waits for, in the order in which it asked. */
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

  /** Takes note that an ask is recorded at a position. `missing`: the code has not asked for it (yet). */
  accept(id: string, kind: AskRequest["kind"], position: number, event?: string, child?: ChildLink): "accepted" | "missing" | { readonly asked: string } {
    const ask = this.fresh.get(id)
    if (ask === undefined) return this.#again(id)
    if (ask.request.kind !== kind) return { asked: describeAsk(ask.request) }
    if (ask.request.kind === "wait" && ask.request.event !== event) return { asked: describeAsk(ask.request) }
    if (ask.request.kind === "do") {
      if ((ask.request.child === undefined) !== (child === undefined)) return { asked: describeAsk(ask.request) }
      if (ask.request.child && child) ask.request.child.link = child
    }
    ask.position = position
    ask.underWay = true
    ask.attempts = 1
    this.fresh.delete(id)
    this.#open.set(id, ask)
    if (kind === "do") this.onStepStarted?.(ask)
    return "accepted"
  }

  /** A further attempt of an open step, or an ask that the code is through with. */
  #again(id: string): "accepted" | "missing" {
    const open = this.#open.get(id)
    if (open) {
      open.underWay = true
      open.attempts++
    }
    return open || this.#withdrawn?.has(id) ? "accepted" : "missing"
  }

  /** The step's attempt failed and another is to follow: nothing of it is under way until then. */
  retrying(id: string): void {
    const open = this.#open.get(id)
    if (open) open.underWay = false
  }

  /** What the code asked for under this id, while it is open. */
  request(id: string): AskRequest | undefined {
    return this.#open.get(id)?.request
  }

  /** The open ask of that id, which is so no more. */
  take(id: string): OpenAsk | undefined {
    const ask = this.#open.get(id)
    this.#forget(id)
    return ask
  }

  /** The code gave it up itself. `recorded`: that is to be recorded, too; undefined: it was through with it. */
  withdraw(ask: OpenAsk): { readonly recorded: boolean } | undefined {
    const { id } = ask.request
    const recorded = this.#open.get(id) === ask
    if (!recorded && this.fresh.get(id) !== ask) return undefined
    if (!recorded) (this.#withdrawn ??= new Set()).add(id)
    this.#forget(id)
    return { recorded }
  }

  /** Recorded asks first, then those that are not recorded. The list is a copy. */
  all(): readonly OpenAsk[] {
    return [...this.#open.values(), ...this.fresh.values()]
  }

  /** An attempt is under way of a step that is to be undone if it completes. */
  get hasUndoable(): boolean {
    return this.#open.some(({ request, underWay }) => underWay && request.kind === "do" && request.options?.rollback !== undefined)
  }

  /** Nothing will come of those that are recorded, and nobody need wait for them. */
  drop(): void {
    for (const ask of this.#open.values()) ask.over?.resolve(undefined)
    this.#open.clear()
  }

  /** None of them settles any more. */
  clear(): void {
    this.#open.clear()
    this.fresh.clear()
  }

  /** Gives up all but steps whose attempt is under way: these are waited for. Answers the others that are recorded. */
  giveUpRest(): { readonly underWay: readonly Promise<unknown>[]; readonly aborted: readonly string[] } {
    for (const ask of this.fresh.values()) this.withdraw(ask)
    const rest = this.#open.values().filter((ask) => ask.request.kind !== "do" || !ask.underWay)
    for (const { request } of rest) this.#open.delete(request.id)
    const underWay = this.#open.values().map((ask) => (ask.over = new Deferred()).promise)
    return { underWay, aborted: rest.map(({ request }) => request.id) }
  }

  #forget(id: string): void {
    this.#open.delete(id)
    this.fresh.delete(id)
  }
}

export class OpenAsk extends PendingAsk {
  /** 0 until it is recorded. */
  position = 0
  /** How many attempts are recorded as started. */
  attempts = 0
  /** An attempt was begun and has not ended. */
  underWay = false
  /** A cancel came before the attempt ended: the promise rejects with this. */
  cancelled: CancelledError | undefined = undefined
  /** Of one that the code left behind when it ended: its own promise is left pending, and whoever undoes the run waits for this. */
  over: Deferred | undefined = undefined
}

export function describeAsk(ask: AskRequest): string {
  if (ask.kind === "do") return `${ask.child ? "child" : "step"} "${ask.id}"`
  if (ask.kind === "sleep") return `sleep "${ask.id}"`
  return describeWait(ask.id, ask.event)
}

export function describeWait(id: string, event: string | undefined): string {
  return event === undefined ? `condition "${id}"` : `wait "${id}" for event "${event}"`
}

const none: readonly never[] = []
