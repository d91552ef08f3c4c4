import { StoredLimits } from "../../engine/flow-control/stored-limits.ts"
import { type EdgeClient, ObjectClient } from "./object-client.ts"
import { objectLimits } from "./object-limits.ts"
import { ObjectTasks } from "./object-tasks.ts"
import { ObjectCalls } from "./object-calls.ts"
import { ObjectScheduleCalls } from "./object-schedule-calls.ts"
import { IndexClient } from "./index-client.ts"
import type { ObjectNamespace } from "../platform/platform.ts"
import { StubNetwork } from "../objects/object-rpc.ts"
import { ShardedChanges } from "../store/sharded-changes.ts"
import { ShardedIndex } from "../store/sharded-index.ts"
import { listTaskQueues } from "../store/sharded-task-queues.ts"
import { listSchedules } from "../store/sharded-schedules.ts"
import { ShardLayout } from "../store/shard-layout.ts"

const changesMax = 100

/**
 * A client of the instances behind the binding, with the same calls, values and errors as an engine. It holds no connection, so a Worker may make one for
 * each request. Its calls throw `UNREACHABLE` if an object does not answer.
 *
 * @example
 * const client = workflowClient(env.WORKFLOW_RUNNER)
 * const { id } = await client.start(order, { input: { item: "tea" } })
 */
export function workflowClient(binding: ObjectNamespace): EdgeClient {
  const network = new StubNetwork(() => binding)
  const index = new IndexClient(async () => {
    const layout = new ShardLayout(await calls.layout())
    const instances = new ShardedIndex(layout, (name) => network.shard(name))
    const changes = new ShardedChanges(layout, (name) => network.shard(name))
    return {
      list: (filter, page) => instances.list(filter, page),
      count: (filter, by) => instances.count(filter, by),
      changes: (after) => changes.read(after, changesMax),
      latestChange: () => changes.latest(),
      listQueues: async () => {
        const names = await listTaskQueues(layout, (name) => network.shard(name))
        return (await Promise.all(names.map((name) => tasks.queue(name)))).flat()
      },
      listSchedules: (request) => listSchedules(layout, (name) => network.shard(name), request),
    }
  })
  const calls = new ObjectCalls(binding, index)
  const tasks = new ObjectTasks(binding)
  const limits = new StoredLimits(
    objectLimits((workflow) => network.limitSettings(workflow)),
    () => undefined,
  )
  return new ObjectClient(calls, new ObjectScheduleCalls(binding, index), limits, tasks)
}
