import { PerdureError } from "../../core/errors.ts"
import { shardName } from "./object-name.ts"

export interface ShardOptions {
  /** How many index shards there are; default 8. More of them take in more changes in a second, and each list asks all of them. */
  readonly indexShards?: number
  /** How many there were before, the last number first: what is in those is read as well, for as long as they are named here. */
  readonly previousShards?: number | readonly number[]
}

const shardsDefault = 8
const shardsMax = 1_000

/**
 * Which shard an instance is in. Each number of shards has objects of its own: so an instance has one place in each layout, and moves to the
 * present one when it is written the next time.
 */
export class ShardLayout {
  readonly shards: number
  /** All that are read: the present one first, then those before it. */
  readonly tiers: readonly number[]

  constructor({ indexShards = shardsDefault, previousShards = [] }: ShardOptions = {}) {
    const previous = typeof previousShards === "number" ? [previousShards] : previousShards
    for (const count of [indexShards, ...previous]) checkCount(count)
    this.shards = indexShards
    this.tiers = [...new Set([indexShards, ...previous])]
  }

  /** Where an instance is written to. */
  shardOf(id: string): string {
    return shardName(this.shards, placeOf(id, this.shards))
  }

  /** The shards of each tier; of one instance, only those that it can be in. */
  names(id?: string): readonly (readonly string[])[] {
    return this.tiers.map((count) =>
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

/** FNV-1a over UTF-16 units, with the bits mixed once more. It decides where rows are and so must stay as it is for ever. */
export function hashOf(id: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
