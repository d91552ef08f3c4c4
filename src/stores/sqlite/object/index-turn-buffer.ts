import type { JournalRow, Turn } from "../../../ports/journal-store.ts"

/** Matches entries about the instance as a whole, not about its steps. A payload that looks like such an entry does no harm. */
const instanceEntry = /\{"type":"(?:run\.|paused|resumed|stalled)/

/**
 * Keeps the turns that this object has written and the index does not have yet, so that the object need not read a long journal for the few
 * entries that the index shows.
 */
export class IndexTurnBuffer {
  /** The buffer has seen all turns from this position on. Undefined: it has not seen all turns. */
  #completeFrom: number | undefined
  #lastPosition = 0
  #turns: JournalRow[] = []
  /** The state that the index has to show after the last turn. */
  #indexedState: string | undefined
  /** The last position of the last turn that the index has to show. Undefined: not known, so any turn may be such a turn. */
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

  /** Whether the index shows something else after the turn. Steps do not change what the index shows. */
  #changesIndex({ create, state, tags, memo }: Turn): boolean {
    const before = this.#indexedState
    if (state) this.#indexedState = `${state.status}/${state.phase ?? ""}/${state.run}`
    return this.#indexedState !== before || create !== undefined || tags !== undefined || memo !== undefined
  }

  /** Call this when the journal was read to its end: the buffer sees all turns after `revision`. */
  journalReadTo(revision: number): void {
    this.#completeFrom ??= revision + 1
  }

  /** Call this when the index has everything up to `revision`. */
  indexed(revision: number): void {
    // Without `#completeFrom` the buffer lacks earlier turns, and this acknowledgement does not change that.
    if (this.#completeFrom !== undefined) this.#completeFrom = Math.max(this.#completeFrom, revision + 1)
    this.#turns = this.#turns.filter(({ position, count }) => position + count - 1 > revision)
  }

  /** The turns from a position on. Undefined: the caller has to read them from the journal. */
  turnsFrom(from: number): { readonly rows: readonly JournalRow[]; readonly revision: number } | undefined {
    if (this.#completeFrom === undefined || this.#completeFrom > from || this.#lastPosition < from) return undefined
    return { rows: this.#turns.filter(({ position, count }) => position + count - 1 >= from), revision: this.#lastPosition }
  }
}
