import { PerdureError } from "../../core/errors.ts"
import { foreignCursor } from "./change-cursor.ts"

/** A place in a list over several shards. It means the same in each shard. */
export interface ListPlace {
  readonly createdAt: number
  readonly id: string
}

export function comparePlaces(a: ListPlace, b: ListPlace): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

export function toListCursor({ createdAt, id }: ListPlace): string {
  return toBase64Url(`${createdAt}:${id}`)
}

export function fromListCursor(cursor: string): ListPlace {
  const match = /^(-?\d{1,16}):([^]+)$/.exec(fromBase64Url(cursor))
  if (match === null)
    throw new PerdureError("BAD_OPTION", "the page cursor is not valid; pass the cursor of the previous page, or omit it to begin with the first page")
  return { createdAt: Number(match[1]), id: match[2]! }
}

/** How far a reader has read in each shard, by the shard's name. Of a shard that is not in the map, the reader has read nothing. */
export type ShardPlaces = ReadonlyMap<string, ShardPlace>

export interface ShardPlace {
  readonly seq: number
  readonly mark: string
}

/** `<layout>-<shard>-<seq>-<mark>` for each shard, joined by `_`. Cursors of changes have no white space and no "~". */
export function toShardCursor(places: ShardPlaces): string {
  const parts = [...places].filter(([, { seq }]) => seq > 0).map(([shard, { seq, mark }]) => `${shard}-${seq.toString(36)}-${mark}`)
  return parts.length === 0 ? nowhere : parts.sort().join("_")
}

/** The cursor of the beginning, for a reader that got an empty page and reads on from there. */
const nowhere = "0"

export function fromShardCursor(cursor: string): ShardPlaces {
  if (cursor === nowhere) return new Map()
  return new Map(
    cursor.split("_").map((part) => {
      const match = /^(\d{1,4}-\d{1,4})-([0-9a-z]{1,10})-([0-9a-f]{1,32})$/.exec(part)
      const seq = Number.parseInt(match?.[2] ?? "", 36)
      if (match === null || !Number.isSafeInteger(seq)) throw foreignCursor()
      return [match[1]!, { seq, mark: match[3]! }]
    }),
  )
}

function toBase64Url(text: string): string {
  const bytes = new TextEncoder().encode(text)
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")
}

function fromBase64Url(cursor: string): string {
  try {
    const bytes = Uint8Array.from(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0))
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return ""
  }
}
