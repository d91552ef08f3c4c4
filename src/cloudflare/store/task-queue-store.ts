import type { TaskQueueRows } from "../../ports/cloudflare/task-queue.ts"
import type { ClaimedTask, ExpiredTasks, KeptClaim, QueueDepth, TaskClaim, TaskEnding, TaskRow, TaskStore, TaskWorkerInfo } from "../../ports/task-store.ts"

/** One answer has inputs of at most this length in all, but always one task. */
const answerLengthMax = 4 * 1024 * 1024

/** The tasks in the object of a queue, as the port of an engine. Without tables the queue has no tasks, and only a worker that announces itself creates them. */
export class TaskQueueStore implements TaskStore {
  readonly #rows: TaskQueueRows
  readonly #afterWrite: () => void

  /** `afterWrite`: called after each write, before anything else can happen in the object. */
  constructor(rows: TaskQueueRows, afterWrite: () => void) {
    this.#rows = rows
    this.#afterWrite = afterWrite
  }

  /** Undefined: there are no tables. */
  get #tasks(): TaskStore | undefined {
    return this.#rows.isThere() ? this.#rows.tasks : undefined
  }

  async claim(request: TaskClaim): Promise<readonly ClaimedTask[]> {
    const claimed: ClaimedTask[] = []
    for (let length = 0; claimed.length < request.limit && length < answerLengthMax;) {
      const [task] = (await this.#tasks?.claim({ ...request, limit: 1 })) ?? []
      if (task === undefined) break
      claimed.push(task)
      length += task.input.length
    }
    if (claimed.length > 0) this.#afterWrite()
    return claimed
  }

  async keep(claims: readonly KeptClaim[], leaseMs: number): Promise<readonly ("kept" | "gone")[]> {
    const outcomes = await this.#tasks?.keep(claims, leaseMs)
    this.#afterWrite()
    return outcomes ?? claims.map(() => "gone")
  }

  async finish(endings: readonly TaskEnding[]): Promise<readonly ("finished" | "gone")[]> {
    const outcomes = await this.#tasks?.finish(endings)
    this.#afterWrite()
    return outcomes ?? endings.map(() => "gone")
  }

  async expire(limit: number): Promise<ExpiredTasks> {
    const expired = await this.#tasks?.expire(limit)
    this.#afterWrite()
    return expired ?? { instances: [] }
  }

  async find(ids: readonly string[]): Promise<readonly TaskRow[]> {
    return (await this.#tasks?.find(ids)) ?? []
  }

  async depths(): Promise<readonly QueueDepth[]> {
    return (await this.#tasks?.depths()) ?? []
  }

  async announce(worker: TaskWorkerInfo, leaseMs: number): Promise<void> {
    if (leaseMs > 0) this.#rows.prepare()
    await this.#tasks?.announce(worker, leaseMs)
    this.#afterWrite()
  }

  async workers(): Promise<readonly TaskWorkerInfo[]> {
    return (await this.#tasks?.workers()) ?? []
  }
}
