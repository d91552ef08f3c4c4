import type { Logger } from "../../ports/host.ts"
import type { TaskQueueIndex } from "../../ports/cloudflare/index-shard.ts"
import type { TaskQueueRows } from "../../ports/cloudflare/task-queue.ts"
import { RetryingTask } from "./retrying-task.ts"
import type { ShardLayout } from "./shard-layout.ts"

const retryMs = 500

export interface TaskQueuePublisherOptions {
  /** The name of the queue. Undefined: the platform does not tell it, and the queue is not listed. */
  readonly queue: string | undefined
  readonly rows: Pick<TaskQueueRows, "isThere" | "listedIn" | "setListedIn">
  readonly layout: ShardLayout
  readonly shardOf: (name: string) => Pick<TaskQueueIndex, "taskQueueWrite" | "taskQueueRemove">
  readonly now: () => number
  readonly log: Logger
}

/** Tells the index that a task queue exists, until its shard has it. A shard that is down delays lists of queues, and no task. */
export class TaskQueuePublisher {
  readonly #options: TaskQueuePublisherOptions
  readonly #task: RetryingTask
  #isRemoving = false

  constructor(options: TaskQueuePublisherOptions) {
    this.#options = options
    this.#task = new RetryingTask({ now: options.now, log: options.log, retryMs, failure: "a task queue could not be listed" })
  }

  get retryAt(): number | undefined {
    return this.#task.retryAt
  }

  /** Resolves when the queue is listed, or could not be listed now. */
  get settled(): Promise<void> {
    return this.#task.settled
  }

  send(onDone: () => void, isRetry = false): void {
    const { queue, rows, layout, shardOf } = this.#options
    if (queue === undefined || this.#isRemoving || !rows.isThere() || !this.#task.tryStart(isRetry)) return
    const shard = layout.shardOf(queue)
    if (rows.listedIn() === shard) return this.#task.idleUntil()
    const list = async (): Promise<undefined> => {
      await shardOf(shard).taskQueueWrite(queue)
      // After a change of the number of shards, the queue moves to another one.
      const former = rows.listedIn()
      if (former !== undefined && former !== shard) await shardOf(former).taskQueueRemove(queue)
      rows.setListedIn(shard)
    }
    this.#task.begin(list, () => this.send(onDone), onDone)
  }

  /** Removes the queue from the index. Throws if its shard does not answer; then the queue counts as not listed. */
  async remove(): Promise<void> {
    const { queue, rows, shardOf } = this.#options
    this.#isRemoving = true
    try {
      await this.#task.settled
      const shard = rows.listedIn()
      if (queue === undefined || shard === undefined) return
      rows.setListedIn(undefined)
      await shardOf(shard).taskQueueRemove(queue)
    } finally {
      this.#isRemoving = false
    }
  }
}
