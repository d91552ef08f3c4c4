import type { ObjectNetwork } from "../../ports/cloudflare/object-network.ts"
import type { ObjectTables } from "../../ports/cloudflare/object-tables.ts"
import type { NewTask, QueueDepth, SentTasks, TaskRow, TaskWorkerInfo } from "../../ports/task-store.ts"

const ordersMax = 100

export interface ObjectSentTasksOptions {
  /** The tasks that have not ended, and their queues. */
  readonly rows: { open(): readonly (readonly [id: string, queue: string])[] }
  readonly outbox: Pick<ObjectTables, "outgoing">
  readonly network: Pick<ObjectNetwork, "taskQueue">
}

/** The open tasks of an object's instance. Which are open says the object itself; how they stand say the objects of their queues. */
export class ObjectSentTasks implements SentTasks {
  readonly #options: ObjectSentTasksOptions

  constructor(options: ObjectSentTasksOptions) {
    this.#options = options
  }

  open(ids: readonly string[]): readonly string[] {
    const open = new Set(this.#options.rows.open().map(([id]) => id))
    return ids.filter((id) => open.has(id))
  }

  /** Also tasks that their queues do not have yet. */
  async find(ids: readonly string[]): Promise<readonly TaskRow[]> {
    const open = this.#options.rows.open().filter(([id]) => ids.includes(id))
    const unsent = this.#unsent().filter(({ id }) => open.some(([one]) => one === id))
    const found = await this.#inQueues((name) => {
      const here = open.filter(([, queue]) => queue === name).map(([id]) => id)
      return this.#options.network.taskQueue(name).find(here)
    })
    return [...found, ...unsent.filter(({ id }) => !found.some((task) => task.id === id))]
  }

  depths(): Promise<readonly QueueDepth[]> {
    return this.#inQueues((name) => this.#options.network.taskQueue(name).depths())
  }

  workers(): Promise<readonly TaskWorkerInfo[]> {
    return this.#inQueues((name) => this.#options.network.taskQueue(name).workers())
  }

  #unsent(): readonly TaskRow[] {
    return this.#options.outbox.outgoing(ordersMax).flatMap(({ message }) => {
      if (message.kind !== "task") return []
      return { ...(JSON.parse(message.payload ?? "{}") as NewTask), instance: message.topic ?? "", createdAt: message.at }
    })
  }

  /** Asks the queues that have open tasks of the instance. */
  async #inQueues<T>(ask: (queue: string) => Promise<readonly T[]>): Promise<readonly T[]> {
    const queues = new Set(this.#options.rows.open().map(([, queue]) => queue))
    return (await Promise.all([...queues].map(ask))).flat()
  }
}
