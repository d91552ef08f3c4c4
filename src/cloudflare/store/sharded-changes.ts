import type { Change } from "../../core/journal/change.ts"
import type { IndexChangePage, IndexedChange } from "../../ports/cloudflare/index-shard.ts"
import { foreignCursor } from "../../stores/shared/change-cursor.ts"
import { fromShardCursor, toShardCursor, type ShardPlace } from "../../stores/shared/shard-cursor.ts"
import { roleOf } from "./object-name.ts"
import type { ShardLayout } from "./shard-layout.ts"
import { askShard, type ShardAccess } from "./sharded-index.ts"

export interface ShardedChangePage {
  readonly changes: readonly Change[]
  /** The cursor for the next page: behind the last change, or behind all changes. */
  readonly cursor: string
}

/**
 * The changes of instances from all shards, without gaps and in order for each instance. A cursor holds a position in every shard.
 *
 * An instance moves to the current layout only after its shard in the earlier layout has all earlier changes. So the current shards are read first,
 * and their changes are returned last, behind those of the earlier shards. No reader sees a change before an earlier change of the same instance.
 */
export class ShardedChanges {
  readonly #layout: ShardLayout
  readonly #shard: ShardAccess

  constructor(layout: ShardLayout, shard: ShardAccess) {
    this.#layout = layout
    this.#shard = shard
  }

  async read(after: string | undefined, limit: number, instance?: string): Promise<ShardedChangePage> {
    const places = new Map(after === undefined ? [] : fromShardCursor(after))
    const layouts: ShardPage[][] = []
    for (const names of this.#layout.names(instance)) layouts.push(await Promise.all(names.map((name) => this.#page(name, places, limit, instance))))
    const changes: Change[] = []
    for (const pagesOfLayout of layouts.toReversed()) {
      const taken = new Map<ShardPage, number>()
      for (const { change, page } of merged(pagesOfLayout).slice(0, limit - changes.length)) {
        places.set(page.key, { seq: change.seq, mark: page.mark })
        taken.set(page, (taken.get(page) ?? 0) + 1)
        const { seq: _, incarnation: __, ...rest } = change
        changes.push({ ...rest, cursor: toShardCursor(places) })
      }
      const isExhausted = pagesOfLayout.every((page) => page.isLast && (taken.get(page) ?? 0) === page.changes.length)
      if (!isExhausted) break
      for (const { key, latest, mark, changes: last } of pagesOfLayout) places.set(key, { seq: Math.max(latest, last.at(-1)?.seq ?? 0), mark })
    }
    return { changes, cursor: toShardCursor(places) }
  }

  /** The cursor of all that is there now. */
  async latest(): Promise<string> {
    const names = this.#layout.names().flat()
    const places = await Promise.all(
      names.map(async (name): Promise<[string, ShardPlace]> => {
        const { latest, mark } = await askShard(name, () => this.#shard(name).indexChanges({ after: Number.MAX_SAFE_INTEGER, limit: 1 }))
        return [keyOf(name), { seq: latest, mark }]
      }),
    )
    return toShardCursor(new Map(places))
  }

  async #page(name: string, places: ReadonlyMap<string, ShardPlace>, limit: number, instance: string | undefined): Promise<ShardPage> {
    const key = keyOf(name)
    const place = places.get(key)
    const request = { after: place?.seq ?? 0, limit, ...(instance === undefined ? undefined : { instance }) }
    const page = await askShard(name, () => this.#shard(name).indexChanges(request))
    if (place !== undefined && (place.mark !== page.mark || place.seq > page.latest)) throw foreignCursor()
    return { ...page, key }
  }
}

interface ShardPage extends IndexChangePage {
  /** The name of the shard in cursors. */
  readonly key: string
}

/** Merges the changes of the shards by time. The changes of one shard keep their order. */
function merged(pages: readonly ShardPage[]): { readonly change: IndexedChange; readonly page: ShardPage }[] {
  const heads = pages.map((page) => ({ page, at: 0 }))
  const all: { change: IndexedChange; page: ShardPage }[] = []
  for (;;) {
    let first: { head: (typeof heads)[number]; change: IndexedChange } | undefined
    for (const head of heads) {
      const change = head.page.changes[head.at]
      if (change !== undefined && (first === undefined || change.at < first.change.at)) first = { head, change }
    }
    if (first === undefined) return all
    first.head.at++
    all.push({ change: first.change, page: first.head.page })
  }
}

function keyOf(name: string): string {
  const role = roleOf(name)
  if (role.kind !== "shard") throw new Error("only shards are read")
  return `${role.layout}-${role.index}`
}
