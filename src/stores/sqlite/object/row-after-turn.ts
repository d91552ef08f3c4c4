import type { InstanceRow, NewInstance, Turn } from "../../../ports/journal-store.ts"

/** What the turns that an object writes make of the row of its instance: who has seen all of them need not read it. */
export class RowAfterTurn {
  #permanent: (Pick<InstanceRow, "memo"> & NewInstance) | undefined

  /** As it is now; undefined: it has to be read. Of one with limits, others than turns have a say in it. */
  after({ incarnation, create, state, tags, memo, at }: Turn): InstanceRow | undefined {
    const permanent = create ?? this.#permanent
    if (permanent?.incarnation !== incarnation || permanent.flow) this.#permanent = undefined
    else this.#permanent = { ...permanent, ...(tags && { tags }), ...(memo !== undefined && { memo }) }
    return this.#permanent && state && { ...this.#permanent, ...state, updatedAt: at }
  }
}
