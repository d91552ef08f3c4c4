import { isTerminal, type Status } from "../../core/journal/status.ts"
import type { Page } from "../../ports/directory.ts"
import type { ScheduleChange, ScheduleRow, ScheduleStore } from "../../ports/schedule-store.ts"
import type { SqlDriver, SqlStatement } from "../../ports/sql-driver.ts"
import type { InboxTable } from "./tables/inbox-table.ts"
import { fromText, toText } from "../shared/unsafe-text.ts"
import { toScheduleRow } from "../shared/schedule-rows.ts"
import { bytes, integer, text } from "./driver/sql-columns.ts"
import type { SqliteTables } from "./sqlite-components.ts"
import type { TurnTable } from "./tables/turn-table.ts"
import { fromChunks, toChunks } from "./driver/text-chunks.ts"
import type { TurnFlow } from "./tables/turn-flow-port.ts"

export const scheduleColumns = "s.id, s.incarnation, s.revision, s.workflow, s.created_at, s.updated_at, s.due_at, s.awaits, s.state"
/** The unary plus keeps SQLite from using the index on `workflow`: the rows must come in the order of another index. */
const ofWorkflows = "+s.workflow IN (SELECT value FROM json_each(?))"

export class SqliteScheduleStore implements ScheduleStore {
  readonly #driver: SqlDriver
  readonly #now: () => number
  readonly #inbox: InboxTable
  readonly #turns: TurnTable
  readonly #flow: TurnFlow
  readonly #insert: SqlStatement
  readonly #update: SqlStatement
  readonly #insertInput: SqlStatement
  readonly #removeInput: SqlStatement
  readonly #readInput: SqlStatement
  readonly #remove: SqlStatement
  readonly #get: SqlStatement
  readonly #list: SqlStatement
  readonly #listOf: SqlStatement
  readonly #due: SqlStatement
  readonly #ready: SqlStatement
  readonly #nextDue: SqlStatement
  readonly #status: SqlStatement

  constructor({ driver, now, inbox, turns, flow }: SqliteTables) {
    this.#driver = driver
    this.#now = now
    this.#inbox = inbox
    this.#turns = turns
    this.#flow = flow
    this.#insert = driver.prepare(
      `INSERT INTO perdure_schedule (id, incarnation, revision, workflow, created_at, updated_at, due_at, awaits, state)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    )
    this.#update = driver.prepare(
      `UPDATE perdure_schedule SET revision = ?, workflow = ?, updated_at = ?, due_at = ?, awaits = ?, state = ? WHERE id = ? AND incarnation = ? AND revision = ?`,
    )
    this.#insertInput = driver.prepare(`INSERT INTO perdure_schedule_input (schedule, part, bytes) SELECT key, ?, ? FROM perdure_schedule WHERE id = ?`)
    this.#removeInput = driver.prepare(`DELETE FROM perdure_schedule_input WHERE schedule = (SELECT key FROM perdure_schedule WHERE id = ?)`)
    this.#readInput = driver.prepare(
      `SELECT p.bytes FROM perdure_schedule_input p WHERE p.schedule = (SELECT key FROM perdure_schedule WHERE id = ?) ORDER BY p.part`,
    )
    this.#remove = driver.prepare(`DELETE FROM perdure_schedule WHERE id = ?`)
    this.#get = driver.prepare(`SELECT ${scheduleColumns} FROM perdure_schedule s WHERE s.id = ?`)
    this.#list = driver.prepare(`SELECT ${scheduleColumns} FROM perdure_schedule s WHERE s.id > ? ORDER BY s.id LIMIT ?`)
    this.#listOf = driver.prepare(`SELECT ${scheduleColumns} FROM perdure_schedule s WHERE s.workflow = ? AND s.id > ? ORDER BY s.id LIMIT ?`)
    this.#due = driver.prepare(`SELECT ${scheduleColumns} FROM perdure_schedule s WHERE s.due_at <= ? AND ${ofWorkflows} ORDER BY s.due_at LIMIT ?`)
    // Few schedules await an instance at any time, and only these are in the index of `awaits`.
    this.#ready = driver.prepare(
      `SELECT ${scheduleColumns} FROM perdure_schedule s LEFT JOIN perdure_instance i ON i.id = s.awaits
      WHERE s.awaits IS NOT NULL AND ${ofWorkflows} AND (i.status IS NULL OR i.status IN ('completed', 'failed', 'cancelled', 'terminated')) LIMIT ?`,
    )
    this.#nextDue = driver.prepare(`SELECT s.due_at FROM perdure_schedule s WHERE s.due_at IS NOT NULL AND ${ofWorkflows} ORDER BY s.due_at LIMIT 1`)
    this.#status = driver.prepare(`SELECT status FROM perdure_instance WHERE id = ?`)
  }

  async write(change: ScheduleChange): Promise<"written" | "lost"> {
    const { row, input, creates = [], messages = [], ended = [], live = [] } = change
    const now = this.#now()
    try {
      return this.#driver.transaction(() => {
        this.#turns.begin()
        if (ended.some((id) => this.#isLive(id)) || live.some((id) => !this.#isLive(id))) return "lost"
        if (creates.some(({ instance }) => this.#status.get(toText(instance)) !== undefined)) return "lost"
        if (creates.some(({ create }) => !this.#flow.areUniqueKeysFree(create?.flow?.unique ?? []))) return "lost"
        if (!this.#writeRow(row)) return "lost"
        if (input !== undefined) this.#writeInput(row.id, input)
        for (const turn of creates) if (this.#turns.write(turn) !== "committed") throw new Error("an instance whose id and keys are free can be created")
        for (const message of messages) this.#inbox.deliver(message, now)
        return "written"
      })
    } catch (error) {
      this.#turns.clearCache()
      throw error
    }
  }

  async get(id: string): Promise<ScheduleRow | undefined> {
    const row = this.#get.get(toText(id))
    return row === undefined ? undefined : toScheduleRow(row)
  }

  async input(id: string): Promise<string | undefined> {
    const parts = this.#readInput.all(toText(id))
    return parts.length === 0 ? undefined : fromText(fromChunks(parts.map((part) => bytes(part, "bytes"))))
  }

  async list({ workflow }: { readonly workflow?: string }, { limit, after }: { readonly limit: number; readonly after?: string }): Promise<Page<ScheduleRow>> {
    const from = toText(after ?? "")
    const rows = workflow === undefined ? this.#list.all(from, limit + 1) : this.#listOf.all(toText(workflow), from, limit + 1)
    const items = rows.slice(0, limit).map(toScheduleRow)
    const last = items.at(-1)
    return { items, ...(last !== undefined && rows.length > limit ? { cursor: last.id } : undefined) }
  }

  async due(workflows: readonly string[], limit: number): Promise<readonly ScheduleRow[]> {
    const names = JSON.stringify(workflows.map(toText))
    const rows = [...this.#due.all(this.#now(), names, limit), ...this.#ready.all(names, limit)].map(toScheduleRow)
    return [...new Map(rows.map((row) => [row.id, row])).values()].slice(0, limit)
  }

  async nextDueAt(workflows: readonly string[]): Promise<number | undefined> {
    const row = this.#nextDue.get(JSON.stringify(workflows.map(toText)))
    return row === undefined ? undefined : integer(row, "due_at")
  }

  async remove(id: string): Promise<boolean> {
    return this.#driver.transaction(() => {
      this.#removeInput.run(toText(id))
      return this.#remove.write(toText(id))
    })
  }

  #writeRow({ id, incarnation, revision, workflow, createdAt, updatedAt, dueAt, awaits, state }: ScheduleRow): boolean {
    const moving = [updatedAt, dueAt ?? null, awaits === undefined ? null : toText(awaits), toText(state)]
    return revision === 1
      ? this.#insert.write(toText(id), toText(incarnation), revision, toText(workflow), createdAt, ...moving)
      : this.#update.write(revision, toText(workflow), ...moving, toText(id), toText(incarnation), revision - 1)
  }

  #writeInput(id: string, input: string): void {
    this.#removeInput.run(toText(id))
    for (const [part, chunk] of toChunks(toText(input)).entries()) this.#insertInput.run(part, chunk, toText(id))
  }

  #isLive(id: string): boolean {
    const row = this.#status.get(toText(id))
    return row !== undefined && !isTerminal(text(row, "status") as Status)
  }
}
