import type { Page } from "../../ports/directory.ts"
import type { ScheduleChange, ScheduleRow, ScheduleStore } from "../../ports/schedule-store.ts"
import { toText } from "../shared/unsafe-text.ts"
import { toScheduleRow } from "../shared/schedule-rows.ts"
import { integer, optionalText, text } from "./reads/columns.ts"
import type { Database, Queries } from "./connection/database.ts"
import { deliver } from "./turns/instance-queries.ts"
import type { PostgresComponents } from "./postgres-components.ts"
import { writeTurns } from "./turns/turn-batch-writer.ts"

const columns = "s.id, s.incarnation, s.revision, s.workflow, s.created_at, s.updated_at, s.due_at, s.awaits, s.state"

/** Thrown to roll back a change that is lost. */
class Lost extends Error {}

export class PostgresScheduleStore implements ScheduleStore {
  readonly #components: PostgresComponents
  readonly #database: Database
  readonly #schema: string

  constructor(components: PostgresComponents) {
    this.#components = components
    this.#database = components.database
    this.#schema = components.database.schema
  }

  async write(change: ScheduleChange): Promise<"written" | "lost"> {
    const { creates = [], messages = [], ended = [], live = [] } = change
    try {
      await this.#database.transaction(async (queries) => {
        // All rows that decide about the change, or change, are locked in one order.
        const concerned = [...ended, ...live, ...creates.map(({ instance }) => instance), ...messages.map(({ instance }) => instance)]
        const rows = await queries.all(
          "schedule-instances",
          `SELECT i.id, i.status NOT IN ('completed', 'failed', 'cancelled', 'terminated') AS live
          FROM ${this.#schema}.instance i WHERE i.id = ANY ($1::text[]) ORDER BY i.id FOR NO KEY UPDATE`,
          concerned.map(toText),
        )
        const isLive = new Map(rows.map((row) => [text(row, "id"), row["live"] === true]))
        if (ended.some((id) => isLive.get(id) === true) || live.some((id) => isLive.get(id) !== true)) throw new Lost()
        if (creates.some(({ instance }) => isLive.has(instance))) throw new Lost()
        if (!(await this.#writeRow(queries, change))) throw new Lost()
        for (const outcome of creates.length === 0 ? [] : await writeTurns(queries, this.#database, creates, "plain"))
          if (outcome !== "written") throw new Lost()
        if (messages.length > 0) await deliver(queries, this.#database, messages)
      })
    } catch (error) {
      if (error instanceof Lost) return "lost"
      // The change may be committed, because the error may be a lost answer.
      this.#components.notifier.work()
      throw error
    }
    this.#components.notifier.work()
    return "written"
  }

  async get(id: string): Promise<ScheduleRow | undefined> {
    const row = await this.#database.get("schedule", `SELECT ${columns} FROM ${this.#schema}.schedule s WHERE s.id = $1`, toText(id))
    return row === undefined ? undefined : toScheduleRow(row)
  }

  async input(id: string): Promise<string | undefined> {
    const row = await this.#database.get("schedule-input", `SELECT s.input FROM ${this.#schema}.schedule s WHERE s.id = $1`, toText(id))
    return row === undefined ? undefined : optionalText(row, "input")
  }

  async list({ workflow }: { readonly workflow?: string }, { limit, after }: { readonly limit: number; readonly after?: string }): Promise<Page<ScheduleRow>> {
    const from = toText(after ?? "")
    const page = (where: string) => `SELECT ${columns} FROM ${this.#schema}.schedule s WHERE ${where} ORDER BY s.id LIMIT $2`
    const rows =
      workflow === undefined
        ? await this.#database.all("schedules", page(`s.id > $1`), from, limit + 1)
        : await this.#database.all("schedules-of", page(`s.id > $1 AND s.workflow = $3`), from, limit + 1, toText(workflow))
    const items = rows.slice(0, limit).map(toScheduleRow)
    const last = items.at(-1)
    return { items, ...(last !== undefined && rows.length > limit ? { cursor: last.id } : undefined) }
  }

  async due(workflows: readonly string[], limit: number): Promise<readonly ScheduleRow[]> {
    const s = this.#schema
    // Few schedules wait for an instance at any time, and the index contains only these.
    const rows = await this.#database.all(
      "schedules-due",
      `(SELECT ${columns} FROM ${s}.schedule s WHERE s.due_at <= ${this.#database.functions.nowMs}() AND s.workflow = ANY ($1::text[]) ORDER BY s.due_at LIMIT $2)
      UNION ALL
      (SELECT ${columns} FROM ${s}.schedule s LEFT JOIN ${s}.instance i ON i.id = s.awaits
      WHERE s.awaits IS NOT NULL AND s.workflow = ANY ($1::text[]) AND (i.status IS NULL OR i.status IN ('completed', 'failed', 'cancelled', 'terminated')) LIMIT $2)`,
      workflows.map(toText),
      limit,
    )
    return [...new Map(rows.map(toScheduleRow).map((row) => [row.id, row])).values()].slice(0, limit)
  }

  async nextDueAt(workflows: readonly string[]): Promise<number | undefined> {
    const row = await this.#database.get(
      "schedules-next",
      `SELECT s.due_at FROM ${this.#schema}.schedule s WHERE s.due_at IS NOT NULL AND s.workflow = ANY ($1::text[]) ORDER BY s.due_at LIMIT 1`,
      workflows.map(toText),
    )
    return row === undefined ? undefined : integer(row, "due_at")
  }

  async remove(id: string): Promise<boolean> {
    const rows = await this.#database.all("schedule-remove", `DELETE FROM ${this.#schema}.schedule WHERE id = $1 RETURNING id`, toText(id))
    return rows.length > 0
  }

  async #writeRow(queries: Queries, { row, input }: ScheduleChange): Promise<boolean> {
    const { id, incarnation, revision, workflow, createdAt, updatedAt, dueAt, awaits, state } = row
    const values = [
      toText(id),
      toText(incarnation),
      revision,
      toText(workflow),
      updatedAt,
      dueAt ?? null,
      awaits === undefined ? null : toText(awaits),
      toText(state),
      input === undefined ? null : toText(input),
    ]
    const written =
      revision === 1
        ? await queries.all(
            "schedule-insert",
            `INSERT INTO ${this.#schema}.schedule (id, incarnation, revision, workflow, updated_at, due_at, awaits, state, input, created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING RETURNING id`,
            ...values,
            createdAt,
          )
        : await queries.all(
            "schedule-update",
            `UPDATE ${this.#schema}.schedule SET revision = $3, workflow = $4, updated_at = $5, due_at = $6, awaits = $7, state = $8, input = coalesce($9, input)
            WHERE id = $1 AND incarnation = $2 AND revision = $3 - 1 RETURNING id`,
            ...values,
          )
    return written.length === 1
  }
}
