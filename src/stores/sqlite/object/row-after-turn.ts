import type { InstanceRow, NewInstance, Turn } from "../../../ports/journal-store.ts"

/** Computes the row of the object's instance from its turns. If it has seen the creation and all later turns, nobody needs to read the row. */
export class RowAfterTurn {
  #permanent: (Pick<InstanceRow, "memo"> & NewInstance) | undefined

  /** The row after a turn. Undefined: the row has to be read, for example because the instance has limits, which claims change as well. */
  after({ incarnation, create, state, tags, memo, at }: Turn): InstanceRow | undefined {
    const permanent = create ?? this.#permanent
    if (permanent?.incarnation !== incarnation || permanent.flow) this.#permanent = undefined
    else this.#permanent = { ...permanent, ...(tags && { tags }), ...(memo !== undefined && { memo }) }
    return this.#permanent && state && { ...this.#permanent, ...state, updatedAt: at }
  }
}
