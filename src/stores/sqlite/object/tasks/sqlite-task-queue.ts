import type { Delivery } from "../../../../ports/directory.ts"
import type { OutgoingMessage } from "../../../../ports/cloudflare/object-tables.ts"
import type { TaskOrder } from "../../../../ports/cloudflare/task-order.ts"
import type { TaskQueueRows } from "../../../../ports/cloudflare/task-queue.ts"
import type { NewMessage } from "../../../../ports/journal-store.ts"
import type { SqlDriver, SqlRow, SqlValue } from "../../../../ports/sql-driver.ts"
import type { NewTask } from "../../../../ports/task-store.ts"
import { toText } from "../../../shared/unsafe-text.ts"
import { integer, optionalInteger, optionalText, text } from "../../driver/sql-columns.ts"
import { migrate, versionOf } from "../../schema/migrate.ts"
import { SqliteTaskStore } from "../../sqlite-task-store.ts"
import { TaskTable } from "../../tables/task-table.ts"
import { OutboxTable } from "../outbox-table.ts"
import { isTaskOrder } from "./is-task-order.ts"
import { taskQueueMigrations } from "./task-queue-schema.ts"

const versionTable = "perdure_task_queue_meta"
/** No message is under way for longer than this. Afterwards the queue forgets what it has received from a sender that has sent nothing since. */
const rememberedMs = 24 * 60 * 60 * 1_000
const forgottenMax = 100

/** The tasks of one queue in a SQLite database of their own. The first order creates the tables. */
export class SqliteTaskQueue implements TaskQueueRows {
  readonly #driver: SqlDriver
  readonly #now: () => number
  #opened: Tables | undefined
  #isThere: boolean | undefined

  constructor(driver: SqlDriver, now: () => number) {
    this.#driver = driver
    this.#now = now
    if (this.isThere()) this.prepare()
  }

  isThere(): boolean {
    this.#isThere ??= versionOf(this.#driver, versionTable).version > 0
    return this.#isThere
  }

  prepare(): void {
    migrate(this.#driver, taskQueueMigrations, versionTable)
    this.#isThere = true
  }

  get tasks(): SqliteTaskStore {
    return this.#tables.store
  }

  get #tables(): Tables {
    if (this.#opened) return this.#opened
    const driver = this.#driver
    const tasks = new TaskTable(driver)
    const outbox = new OutboxTable(driver)
    const deliver = (message: NewMessage): Delivery => {
      outbox.add(message)
      this.#forgetInstance(message.instance, message.incarnation ?? "")
      return "delivered"
    }
    this.#opened = { tasks, outbox, store: new SqliteTaskStore({ driver, now: this.#now, inbox: { deliver }, tasks }) }
    return this.#opened
  }

  receive(from: string, messages: readonly OutgoingMessage[]): readonly Delivery[] {
    const now = this.#now()
    return this.#driver.transaction(() => {
      const received = this.#row(`SELECT seq FROM perdure_task_sender WHERE sender = ?`, from)
      const upTo = received === undefined ? 0 : integer(received, "seq")
      const deliveries = messages.map(({ seq, message }) => (seq <= upTo || !isTaskOrder(message) ? "duplicate" : this.#carryOut(message)))
      const last = Math.max(upTo, ...messages.map(({ seq }) => seq))
      this.#run(
        `INSERT INTO perdure_task_sender (sender, seq, at) VALUES (?, ?, ?) ON CONFLICT (sender) DO UPDATE SET seq = excluded.seq, at = excluded.at`,
        ...[from, last, now],
      )
      this.#forgetSenders(now)
      return deliveries
    })
  }

  #carryOut(order: TaskOrder): Delivery {
    const { eventId: id, topic: instance, incarnation, payload, at } = order
    const { tasks } = this.#tables
    const known = this.#row(`SELECT seq, chunks FROM perdure_task WHERE id = ?`, toText(id))
    if (order.kind === "task") {
      if (known !== undefined || payload === undefined) return "duplicate"
      this.#run(`INSERT INTO perdure_instance (id, incarnation) VALUES (?, ?) ON CONFLICT (id, incarnation) DO NOTHING`, toText(instance), toText(incarnation))
      const row = this.#row(`SELECT key FROM perdure_instance WHERE id = ? AND incarnation = ?`, toText(instance), toText(incarnation))
      tasks.add(integer(row ?? {}, "key"), JSON.parse(payload) as NewTask, { at })
    } else if (known !== undefined) {
      tasks.remove(known)
      this.#forgetInstance(instance, incarnation)
    }
    return "delivered"
  }

  outgoing(limit: number, except: readonly string[] = []): readonly OutgoingMessage[] {
    return this.isThere() ? this.#tables.outbox.read(limit, except) : []
  }

  sent(seqs: readonly number[]): void {
    this.#driver.transaction(() => {
      for (const seq of seqs) this.#tables.outbox.remove(seq)
    })
  }

  sender(): string {
    return text(this.#row(`SELECT sender_id FROM perdure_task_queue`) ?? {}, "sender_id")
  }

  nextExpiresAt(): number | undefined {
    return this.tasks.nextExpiresAt()
  }

  emptyAt(): number | undefined {
    if (this.#row(`SELECT seq FROM perdure_task LIMIT 1`) !== undefined || this.outgoing(1).length > 0) return undefined
    const lastAt = optionalInteger(this.#row(`SELECT max(at) AS at FROM perdure_task_sender`) ?? { at: null }, "at") ?? 0
    const until = optionalInteger(this.#row(`SELECT max(until) AS at FROM perdure_task_worker`) ?? { at: null }, "at") ?? 0
    return Math.max(lastAt + rememberedMs, until)
  }

  listedIn(): string | undefined {
    return optionalText(this.#row(`SELECT shard FROM perdure_task_queue`) ?? { shard: null }, "shard")
  }

  setListedIn(shard: string | undefined): void {
    this.#run(`UPDATE perdure_task_queue SET shard = ?`, shard ?? null)
  }

  forget(): void {
    this.#isThere = false
    this.#opened = undefined
  }

  /** Removes the instance if its last task here has ended. */
  #forgetInstance(id: string, incarnation: string): void {
    this.#run(
      `DELETE FROM perdure_instance WHERE id = ? AND incarnation = ? AND NOT EXISTS (SELECT 1 FROM perdure_task WHERE instance = key)`,
      ...[toText(id), toText(incarnation)],
    )
  }

  #forgetSenders(now: number): void {
    this.#run(
      `DELETE FROM perdure_task_sender WHERE sender IN (SELECT sender FROM perdure_task_sender WHERE at <= ? ORDER BY at LIMIT ?)`,
      ...[now - rememberedMs, forgottenMax],
    )
  }

  #row(sql: string, ...values: SqlValue[]): SqlRow | undefined {
    return this.#driver.prepare(sql).get(...values)
  }

  #run(sql: string, ...values: SqlValue[]): void {
    this.#driver.prepare(sql).run(...values)
  }
}

interface Tables {
  readonly tasks: TaskTable
  readonly outbox: OutboxTable
  readonly store: SqliteTaskStore
}
