import type { JournalRow, Turn } from "../../../ports/journal-store.ts"

/** What tells of an instance and not of its steps; a value that looks like it does no harm. */
const instanceEntry = /\{"type":"(?:run\.|paused|resumed|stalled)/

/**
 * The turns that the index is yet to hear of, as this object has written them: who has them need not read a long journal for the few of its
 * entries that tell what became of the instance.
 */
export class IndexTurnBuffer {
  /** All from here on passed by; undefined: not all did. */
  #completeFrom: number | undefined
  #lastPosition = 0
  #turns: JournalRow[] = []
  /** What the index shows, as of the last turn. */
  #indexedState: string | undefined
  /** The end of the last turn that changed what the index shows; undefined: it is not known, and every turn may have. */
  pendingUpTo: number | undefined

  onTurn(turn: Turn): void {
    if (turn.create !== undefined) {
      this.#completeFrom = turn.position
      this.#turns = []
    }
    this.#lastPosition = turn.position + turn.count - 1
    if (this.#changesIndex(turn)) this.pendingUpTo = this.#lastPosition
    if (this.#completeFrom !== undefined && instanceEntry.test(turn.entries)) this.#turns.push(turn)
  }

  /** The index shows what changes rarely: a step, or ten thousand of them, are no news there. */
  #changesIndex({ create, state, tags, memo }: Turn): boolean {
    const before = this.#indexedState
    if (state) this.#indexedState = `${state.status}/${state.phase ?? ""}/${state.run}`
    return this.#indexedState !== before || create !== undefined || tags !== undefined || memo !== undefined
  }

  /** The journal was read to its end: what is written from here on passes by. */
  journalReadTo(revision: number): void {
    this.#completeFrom ??= revision + 1
  }

  /** The index has all up to there. */
  indexed(revision: number): void {
    // One that passed by before its end was read is not among them.
    if (this.#completeFrom !== undefined) this.#completeFrom = Math.max(this.#completeFrom, revision + 1)
    this.#turns = this.#turns.filter(({ position, count }) => position + count - 1 > revision)
  }

  /** Undefined: they have to be read. */
  turnsFrom(from: number): { readonly rows: readonly JournalRow[]; readonly revision: number } | undefined {
    if (this.#completeFrom === undefined || this.#completeFrom > from || this.#lastPosition < from) return undefined
    return { rows: this.#turns.filter(({ position, count }) => position + count - 1 >= from), revision: this.#lastPosition }
  }
}
