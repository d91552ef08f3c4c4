import type { InstanceRow, NewInstance, Turn } from "../../../ports/journal-store.ts"

/** What the turns that an object writes make of the row of its instance: who has seen all of them need not read it. */
export class RowAfterTurn {
  #known: (Pick<InstanceRow, "memo"> & NewInstance) | undefined

  /** As it is now; undefined: it has to be read. Of one with limits, others than turns have a say in it. */
  after({ incarnation, create, state, tags, memo, at }: Turn): InstanceRow | undefined {
    const known = create ?? this.#known
    if (known?.incarnation !== incarnation || known.flow) this.#known = undefined
    else this.#known = { ...known, ...(tags && { tags }), ...(memo !== undefined && { memo }) }
    return this.#known && state && { ...this.#known, ...state, updatedAt: at }
  }
}
