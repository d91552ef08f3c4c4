import type { Entry } from "../core/journal.ts"
import { EntriesText } from "../core/turn-codec.ts"
import type { InstanceState as InstanceRowState, NewInstance, Turn } from "../ports/journal-store.ts"
import type { CommitResult } from "./committer.ts"

/** A turn in the making: what happened to one instance since its last turn. */
export class TurnDraft {
  readonly position: number
  readonly at: number
  readonly #entries = new EntriesText()
  #consumed: number[] | undefined
  /** Set by a timeout: it must not win against an event that a sender got acknowledged. */
  inboxSeen: number | undefined
  discardInbox = false
  create: NewInstance | undefined
  /** Told first what became of the turn. */
  onResult: ((result: CommitResult) => void) | undefined
  /** What may happen only once this turn is durable: attempts start, nested results are handed out. Most turns have one. */
  #first: (() => void) | undefined
  #others: (() => void)[] | undefined

  constructor(position: number, at: number) {
    this.position = position
    this.at = at
  }

  add(entry: Entry): void {
    this.#entries.add(entry)
  }

  /** A message that the turn takes in, by its `seq`. */
  consume(seq: number): void {
    this.#consumed ??= []
    this.#consumed.push(seq)
  }

  whenCommitted(then: () => void): void {
    if (this.#first === undefined) this.#first = then
    else if (this.#others) this.#others.push(then)
    else this.#others = [then]
  }

  committed(): void {
    this.#first?.()
    if (this.#others) for (const then of this.#others) then()
  }

  seal(turn: string, instance: string, incarnation: string, run: number, state: InstanceRowState | undefined): Turn {
    const { text, blobs } = this.#entries.encoded()
    const { position, at, create, inboxSeen } = this
    const { count } = this.#entries
    const turnOf: { -readonly [K in keyof Turn]: Turn[K] } = { turn, instance, incarnation, position, count, run, at, entries: text }
    if (blobs) turnOf.blobs = blobs
    if (create) turnOf.create = create
    if (state) turnOf.state = state
    if (this.#consumed) turnOf.consumed = this.#consumed
    if (inboxSeen !== undefined) turnOf.inboxSeen = inboxSeen
    if (this.discardInbox) turnOf.discardInbox = true
    return turnOf
  }
}
