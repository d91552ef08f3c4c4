import type { Entry } from "../../core/journal/journal.ts"
import type { PayloadCodecs } from "../../core/values/payload-codecs.ts"
import { EntriesText } from "../../core/journal/turn-codec.ts"
import type { NewInstance, NewMessage, RowState, RunReference, Turn } from "../../ports/journal-store.ts"
import type { CommitResult } from "../worker/group-committer.ts"

/** Something that may happen only once a turn is durable. */
export interface AfterCommit {
  afterCommit(): void
}

/** A turn that has so many entries, or so much text, is long: to write a longer one would keep all others waiting. */
const entriesMax = 1_000
const lengthMax = 4 * 1024 * 1024

/**
 * A turn: while it gathers, what happened to one instance since its last turn; once it is sealed, what is written. One object
 * for both, and a class: there is one for every step.
 */
export class TurnDraft extends EntriesText implements Turn {
  readonly position: number
  readonly at: number
  readonly codecs: PayloadCodecs | undefined
  turn = ""
  instance = ""
  incarnation = ""
  follows: string | undefined = undefined
  run = 0
  entries = ""
  create: NewInstance | undefined = undefined
  within: RunReference | undefined = undefined
  state: RowState | undefined = undefined
  tags: readonly string[] | undefined = undefined
  memo: string | undefined = undefined
  consumed: number[] | undefined = undefined
  /** Set by a timeout: it must not win against an event that a sender got acknowledged. */
  inboxSeen: number | undefined = undefined
  discardInbox: boolean | undefined = undefined
  by: string | undefined = undefined
  sends: readonly NewMessage[] | undefined = undefined
  ifQueued: boolean | undefined = undefined
  /** Told first what became of the turn. */
  onResult: ((result: CommitResult) => void) | undefined = undefined
  /** Attempts start, nested results are handed out. Most turns have one. */
  #firstAfterCommit: AfterCommit | undefined = undefined
  #moreAfterCommit: AfterCommit[] | undefined = undefined

  constructor(position: number, at: number, codecs: PayloadCodecs | undefined) {
    super(codecs)
    this.codecs = codecs
    this.position = position
    this.at = at
  }

  /** Of its last entry. */
  get end(): number {
    return this.position + this.count - 1
  }

  get isLong(): boolean {
    return this.count >= entriesMax || this.length >= lengthMax
  }

  /** A message that the turn takes in, by its `seq`. */
  consume(seq: number): void {
    this.consumed ??= []
    this.consumed.push(seq)
  }

  whenCommitted(then: AfterCommit): void {
    if (this.#firstAfterCommit === undefined) this.#firstAfterCommit = then
    else if (this.#moreAfterCommit) this.#moreAfterCommit.push(then)
    else this.#moreAfterCommit = [then]
  }

  runAfterCommit(): void {
    this.#firstAfterCommit?.afterCommit()
    if (this.#moreAfterCommit) for (const then of this.#moreAfterCommit) then.afterCommit()
  }

  /** Another turn, of all this and one more entry. This one stays as it is, in case that one is not written. */
  withEntry(entry: Entry): TurnDraft {
    const turn = Object.assign(new TurnDraft(this.position, this.at, this.codecs), this)
    turn.addAll(this)
    turn.add(entry)
    turn.#firstAfterCommit = this.#firstAfterCommit
    turn.#moreAfterCommit = this.#moreAfterCommit
    return turn
  }

  /** Nothing is added to it any more. Without a state the row stays as it is. `follows`: the last turn of the journal, unless this turn creates the instance. */
  seal(turn: string, { id, incarnation }: NewInstance, run: number, state: RowState | undefined, follows: string | undefined): this {
    this.turn = turn
    this.follows = follows
    this.instance = id
    this.incarnation = incarnation
    this.run = run
    this.state = state
    this.entries = this.text
    return this
  }
}
