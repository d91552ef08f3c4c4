import { PerdureError } from "../../core/errors.ts"

/** The place of a row in a list: rows are ordered by creation time, and by the order of their creation within one millisecond. */
export interface PagePlace {
  readonly createdAt: number
  readonly key: number
}

export function toCursor(place: PagePlace): string {
  return btoa(`${place.createdAt}:${place.key}`).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
}

export function fromCursor(cursor: string): PagePlace {
  const match = /^(-?\d{1,16}):(\d{1,16})$/.exec(decoded(cursor))
  if (match === null)
    throw new PerdureError("BAD_OPTION", "that page cursor is not one of ours; take the cursor of the page before, or leave it out to begin at the start")
  return { createdAt: Number(match[1]), key: Number(match[2]) }
}

function decoded(cursor: string): string {
  try {
    return atob(cursor.replaceAll("-", "+").replaceAll("_", "/"))
  } catch {
    return ""
  }
}
