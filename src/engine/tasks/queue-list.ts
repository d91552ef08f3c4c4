import type { QueueInfo } from "../../client-api/task-control.ts"
import { defaultQueue } from "../../core/workflow/task-queue.ts"
import type { TaskStore } from "../../ports/task-store.ts"

/** The task queues that have tasks or workers, by name. A worker of all queues is listed with each. */
export async function listQueues(tasks: TaskStore | undefined): Promise<readonly QueueInfo[]> {
  if (tasks === undefined) return []
  const [depths, workers] = await Promise.all([tasks.depths(), tasks.workers()])
  const byName = new Map(depths.map((depth) => [depth.queue, depth]))
  const served = workers.flatMap(({ queues }) => queues ?? [defaultQueue])
  return [...new Set([...byName.keys(), ...served])].toSorted().map((queue) => ({
    ...(byName.get(queue) ?? { queue, waiting: 0, claimed: 0 }),
    workers: workers
      .filter(({ queues }) => queues === undefined || queues.includes(queue))
      .map(({ worker, activities }) => ({ worker, activities }))
      .toSorted((a, b) => (a.worker < b.worker ? -1 : 1)),
  }))
}
