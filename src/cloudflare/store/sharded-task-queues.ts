import type { TaskQueueIndex } from "../../ports/cloudflare/index-shard.ts"
import type { ShardLayout } from "./shard-layout.ts"
import { askShard } from "./sharded-index.ts"

/** The names of the task queues in all shards, in order. */
export async function listTaskQueues(layout: ShardLayout, shard: (name: string) => Pick<TaskQueueIndex, "taskQueueList">): Promise<readonly string[]> {
  const names = layout.names().flat()
  const lists = await Promise.all(names.map((name) => askShard(name, () => shard(name).taskQueueList())))
  return [...new Set(lists.flat())].toSorted()
}
