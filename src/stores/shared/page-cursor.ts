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
    throw new PerdureError("BAD_OPTION", "the page cursor is not valid; pass the cursor of the previous page, or omit it to begin with the first page")
  return { createdAt: Number(match[1]), key: Number(match[2]) }
}

function decoded(cursor: string): string {
  try {
    return atob(cursor.replaceAll("-", "+").replaceAll("_", "/"))
  } catch {
    return ""
  }
}
