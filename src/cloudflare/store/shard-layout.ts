import { PerdureError } from "../../core/errors.ts"
import { shardName } from "./object-name.ts"

export interface ShardOptions {
  /** The number of index shards; default 8. More shards accept more changes per second, but each list has to ask all of them. */
  readonly indexShards?: number
  /** Earlier numbers of shards, the latest first. Lists also read those shards as long as their number is given here. */
  readonly previousShards?: number | readonly number[]
}

const shardsDefault = 8
const shardsMax = 1_000

/**
 * Maps an instance to its index shard. Each number of shards is a layout with objects of its own, so an instance has one shard in each layout. After
 * a change of the number, an instance moves to the current layout when it is next published.
 */
export class ShardLayout {
  readonly shards: number
  /** The numbers of shards of all layouts that are read: the current one first, then the earlier ones. */
  readonly layouts: readonly number[]

  constructor({ indexShards = shardsDefault, previousShards = [] }: ShardOptions = {}) {
    const previous = typeof previousShards === "number" ? [previousShards] : previousShards
    for (const count of [indexShards, ...previous]) checkCount(count)
    this.shards = indexShards
    this.layouts = [...new Set([indexShards, ...previous])]
  }

  /** The shard that an instance is published to. */
  shardOf(id: string): string {
    return shardName(this.shards, placeOf(id, this.shards))
  }

  /** The shards of each layout. With an id, only the shards that may list this instance. */
  names(id?: string): readonly (readonly string[])[] {
    return this.layouts.map((count) =>
      id === undefined ? Array.from({ length: count }, (_, index) => shardName(count, index)) : [shardName(count, placeOf(id, count))],
    )
  }
}

function checkCount(count: number): void {
  if (Number.isInteger(count) && count >= 1 && count <= shardsMax) return
  throw new PerdureError("BAD_OPTION", `the number of index shards is ${String(count)}; give a whole number from 1 to ${shardsMax}`, {
    details: { option: "indexShards" },
  })
}

function placeOf(id: string, count: number): number {
  return hashOf(id) % count
}

/** FNV-1a over UTF-16 units, with the bits mixed once more. The hash decides which shard has a row, so it must never change. */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
