import type { Page } from "../../ports/directory.ts"
import type { ScheduleIndex, ScheduleListRequest } from "../../ports/cloudflare/index-shard.ts"
import type { ScheduleRow } from "../../ports/schedule-store.ts"
import type { ShardLayout } from "./shard-layout.ts"
import { askShard } from "./sharded-index.ts"

/** The schedules of all shards, ordered by id. Of two copies of a schedule, the newer one counts. */
export async function listSchedules(
  layout: ShardLayout,
  shard: (name: string) => Pick<ScheduleIndex, "scheduleList">,
  request: ScheduleListRequest,
): Promise<Page<ScheduleRow>> {
  const names = layout.names().flat()
  const pages = await Promise.all(names.map((name) => askShard(name, () => shard(name).scheduleList(request))))
  const newest = new Map<string, ScheduleRow>()
  for (const row of pages.flatMap(({ items }) => items)) {
    const known = newest.get(row.id)
    if (known === undefined || isNewer(row, known)) newest.set(row.id, row)
  }
  const all = [...newest.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const items = all.slice(0, request.limit)
  const last = items.at(-1)
  const isMore = all.length > items.length || pages.some(({ cursor }) => cursor !== undefined)
  return { items, ...(last !== undefined && isMore ? { cursor: last.id } : undefined) }
}

function isNewer(one: ScheduleRow, other: ScheduleRow): boolean {
  return one.incarnation === other.incarnation ? one.revision > other.revision : one.createdAt > other.createdAt
}
