import type { TaskOrder } from "../../../../ports/cloudflare/task-order.ts"
import type { NewTask } from "../../../../ports/task-store.ts"
import type { SqlDriver } from "../../../../ports/sql-driver.ts"
import { toText } from "../../../shared/unsafe-text.ts"
import { text } from "../../driver/sql-columns.ts"
import type { TaskTurn, TurnTasks } from "../../tables/turn-tasks.ts"

export interface SentTaskOptions {
  /** The name of the object that has a queue. */
  readonly nameOf: (queue: string) => string
  /** Adds an order to the outbox, in the transaction of the turn. */
  readonly send: (order: TaskOrder) => void
}

/**
 * The tasks that the object of an instance has sent to the objects of their queues, and that have not ended. A row is written with the turn that begins the
 * attempt, and removed with the turn that ends it or with the message that tells its end. So the object need not ask a queue whether a task exists, and the
 * journal of a fork, which is copied without this table, has none.
 */
export class SentTaskTable implements TurnTasks {
  static readonly definitions: Readonly<Record<string, readonly string[]>> = {
    perdure_sent_task: [`CREATE TABLE perdure_sent_task (id TEXT PRIMARY KEY, queue TEXT NOT NULL) STRICT, WITHOUT ROWID`],
  }

  readonly #driver: SqlDriver
  readonly #options: SentTaskOptions

  constructor(driver: SqlDriver, options: SentTaskOptions) {
    this.#driver = driver
    this.#options = options
  }

  add(_key: number, task: NewTask, turn: TaskTurn): void {
    this.#driver.prepare(`INSERT INTO perdure_sent_task (id, queue) VALUES (?, ?)`).run(toText(task.id), toText(task.queue))
    this.#send(task.queue, { kind: "task", eventId: task.id, payload: JSON.stringify(task) }, turn)
  }

  end(_key: number, ids: readonly string[] | "all", turn: TaskTurn): void {
    const ended = ids === "all" ? undefined : new Set(ids)
    for (const [id, queue] of this.open()) {
      if (ended?.has(id) === false) continue
      removeSentTask(this.#driver, id)
      this.#send(queue, { kind: "task.over", eventId: id }, turn)
    }
  }

  /** The tasks that have not ended, and their queues. One instance has few. */
  open(): readonly (readonly [id: string, queue: string])[] {
    return this.#driver
      .prepare(`SELECT id, queue FROM perdure_sent_task ORDER BY id`)
      .all()
      .map((row) => [text(row, "id"), text(row, "queue")])
  }

  #send(queue: string, order: Pick<TaskOrder, "kind" | "eventId" | "payload">, { instance, incarnation, at }: TaskTurn): void {
    this.#options.send({ ...order, instance: this.#options.nameOf(queue), incarnation, topic: instance, at })
  }
}

/** The task has ended: its ending is in the inbox, or its instance does not wait for it. */
export function removeSentTask(driver: SqlDriver, id: string): void {
  driver.prepare(`DELETE FROM perdure_sent_task WHERE id = ?`).run(toText(id))
}
