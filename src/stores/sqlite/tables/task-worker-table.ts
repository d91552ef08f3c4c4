import type { TaskWorkerInfo } from "../../../ports/task-store.ts"
import type { SqlDriver, SqlStatement } from "../../../ports/sql-driver.ts"
import { taskWorkerFrom } from "../../shared/task-rows.ts"
import { toText } from "../../shared/unsafe-text.ts"

/** The processes that claim tasks, as they announced themselves. */
export class TaskWorkerTable {
  readonly #put: SqlStatement
  readonly #remove: SqlStatement
  readonly #removeDead: SqlStatement
  readonly #known: SqlStatement

  constructor(driver: SqlDriver) {
    this.#put = driver.prepare(
      `INSERT INTO perdure_task_worker (worker, until, queues, activities) VALUES (?, ?, ?, ?)
      ON CONFLICT (worker) DO UPDATE SET until = excluded.until, queues = excluded.queues, activities = excluded.activities`,
    )
    this.#remove = driver.prepare(`DELETE FROM perdure_task_worker WHERE worker = ?`)
    this.#removeDead = driver.prepare(`DELETE FROM perdure_task_worker WHERE worker >= '' AND until <= ?`)
    this.#known = driver.prepare(`SELECT worker, queues, activities FROM perdure_task_worker WHERE worker >= '' AND until > ?`)
  }

  /** Also removes processes that have not announced themselves again in time. */
  announce({ worker, queues, activities }: TaskWorkerInfo, leaseMs: number, now: number): void {
    this.#removeDead.run(now)
    if (leaseMs === 0) this.#remove.run(toText(worker))
    else this.#put.run(toText(worker), now + leaseMs, queues === undefined ? null : JSON.stringify(queues), JSON.stringify(activities))
  }

  known(now: number): readonly TaskWorkerInfo[] {
    return this.#known.all(now).map(taskWorkerFrom)
  }
}
