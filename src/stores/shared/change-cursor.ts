import { PerdureError } from "../../core/errors.ts"

/** A place in the stream of changes: the number of a journal row, and a mark of that row, which shows that a cursor is of another database. */
export interface ChangePlace {
  readonly seq: number
  readonly mark: string
}

/** Before the first row. */
export const firstPlace: ChangePlace = { seq: 0, mark: "" }

export function changePlace(seq: number, turn: string): ChangePlace {
  return { seq, mark: markOf(turn) }
}

export function toChangeCursor({ seq, mark }: ChangePlace): string {
  return `${seq.toString(36)}.${mark}`
}

export function fromChangeCursor(cursor: string): ChangePlace {
  const match = /^([0-9a-z]{1,10})\.([0-9a-z]{0,7})$/.exec(cursor)
  const seq = Number.parseInt(match?.[1] ?? "", 36)
  if (match === null || !Number.isSafeInteger(seq)) throw foreignCursor()
  return { seq, mark: match[2] ?? "" }
}

/**
 * Throws if the place cannot be of this database: it is after the last row, or another turn has its number. If the row was removed (`turnAt` is
 * undefined), only the number is checked.
 */
export function checkPlace(place: ChangePlace, latest: ChangePlace, turnAt: string | undefined): void {
  if (place.seq > latest.seq || (turnAt !== undefined && markOf(turnAt) !== place.mark)) throw foreignCursor()
}

export function foreignCursor(): PerdureError {
  return new PerdureError(
    "BAD_OPTION",
    "the cursor is not from the changes of this store, or the store was restored to an earlier state; omit it to begin with the first change",
    { details: { option: "cursor" } },
  )
}

/** A 32-bit hash (FNV-1a). */
export function markOf(turn: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < turn.length; at++) hash = Math.imul(hash ^ turn.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(36)
}
