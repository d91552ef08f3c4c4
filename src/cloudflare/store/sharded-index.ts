import { PerdureError } from "../../core/errors.ts"
import { messageOf } from "../../core/values/error-text.ts"
import type { Filter, Page, PageRequest } from "../../ports/directory.ts"
import type { IndexEntry, IndexFilter, IndexShard } from "../../ports/cloudflare/index-shard.ts"
import type { InstanceRow } from "../../ports/journal-store.ts"
import { columnOf, isOldestFirst, wantedStatuses } from "../../stores/shared/query-words.ts"
import { comparePlaces, fromListCursor, toListCursor } from "../../stores/shared/shard-cursor.ts"
import type { ShardLayout } from "./shard-layout.ts"

/** Returns the stub of a shard by its name. */
export type ShardAccess = (name: string) => Pick<IndexShard, "indexList" | "indexCount" | "indexChanges">

/**
 * All shards as one index. A list asks every shard for rows behind the same place and merges their answers; the place of the last row is the cursor.
 * A row written meanwhile lies before or behind that place, so no page misses or repeats another row because of it.
 */
export class ShardedIndex {
  readonly #layout: ShardLayout
  readonly #shard: ShardAccess

  constructor(layout: ShardLayout, shard: ShardAccess) {
    this.#layout = layout
    this.#shard = shard
  }

  async list(filter: Filter, { limit, order, cursor }: PageRequest): Promise<Page<InstanceRow>> {
    // A wrong cursor is refused here, so that the error does not name a shard.
    if (cursor !== undefined) fromListCursor(cursor)
    const isForward = isOldestFirst(order)
    wantedStatuses(filter)
    const request = { ...toIndexFilter(filter), limit, order, ...(cursor === undefined ? undefined : { cursor }) }
    const pages = await this.#ask((shard) => shard.indexList(request))
    const rows = withoutRepeats(pages.flatMap(({ items }) => items))
    rows.sort((a, b) => (isForward ? comparePlaces(a, b) : comparePlaces(b, a)))
    const items = rows.slice(0, limit)
    const last = items.at(-1)
    const isMore = rows.length > items.length || pages.some((page) => page.cursor !== undefined)
    return { items, ...(last !== undefined && isMore ? { cursor: toListCursor(last) } : undefined) }
  }

  async count(filter: Filter, by: "status" | "workflow"): Promise<Record<string, number>> {
    const column = columnOf(by)
    wantedStatuses(filter)
    const counts = await this.#ask((shard) => shard.indexCount(toIndexFilter(filter), column))
    // A Map, because a workflow may have the name "constructor".
    const sums = new Map<string, number>()
    for (const [name, count] of counts.flatMap((one) => Object.entries(one))) sums.set(name, (sums.get(name) ?? 0) + count)
    return Object.fromEntries(sums)
  }

  #ask<T>(ask: (shard: ReturnType<ShardAccess>) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#layout.names().flatMap((names) => names.map((name) => askShard(name, () => ask(this.#shard(name))))))
  }
}

/** Calls one shard. The error of a failed call names the shard. */
export async function askShard<T>(name: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (cause) {
    throw new PerdureError(
      "SHARD_FAILED",
      `index shard "${name}" did not answer: ${messageOf(cause)}; try again; workflows continue, and later send the shard what it has missed`,
      { details: { shard: name }, cause },
    )
  }
}

/** While an instance moves from one shard to another, both may list it. The newer copy counts. */
function withoutRepeats(entries: readonly IndexEntry[]): InstanceRow[] {
  const newest = new Map<string, IndexEntry>()
  for (const entry of entries) {
    const known = newest.get(entry.row.id)
    if (known === undefined || isNewer(entry, known)) newest.set(entry.row.id, entry)
  }
  return [...newest.values()].map(({ row }) => row)
}

function isNewer(one: IndexEntry, other: IndexEntry): boolean {
  return one.row.incarnation === other.row.incarnation ? one.revision > other.revision : one.row.createdAt > other.row.createdAt
}

function toIndexFilter({ workflow, ...rest }: Filter): IndexFilter {
  return workflow === undefined ? rest : { ...rest, type: workflow }
}
