import type { TransactionClient } from "../../../core/workflow/transaction-sql.ts"
import type { PgRow, Queries } from "./database.ts"

/** A statement as the store has built it, for a house rule that looks for values which nobody has checked. */
const wholeStatement = (text: string): string => text

/**
 * Statements on a client of the caller's. Whatever they have made of its types, and whatever stands between, such as a query builder:
 * rows come as JSON, which is the same everywhere. Nothing is prepared by name on a connection that is not ours.
 */
export class CallerQueries implements Queries {
  readonly #client: TransactionClient

  constructor(client: TransactionClient) {
    this.#client = client
  }

  async all(_name: string, text: string, ...values: unknown[]): Promise<PgRow[]> {
    if (!/^\s*SELECT\b/i.test(text)) return (await this.#client.query(text, values)).rows
    const { rows } = await this.#client.query(`SELECT row_to_json(q) AS row FROM (${wholeStatement(text)}) q`, values)
    return rows.map(({ row }) => (typeof row === "string" ? JSON.parse(row) : row) as PgRow)
  }

  async get(name: string, text: string, ...values: unknown[]): Promise<PgRow | undefined> {
    return (await this.all(name, text, ...values))[0]
  }

  async run(statement: string): Promise<void> {
    await this.#client.query(statement)
  }
}
