import { lockMigrations, migrationTimeoutMs } from "../schema/migration-lock.ts"
import { text } from "./columns.ts"
import type { Database } from "../connection/database.ts"

/** SQL for a token of eight characters. */
export const newToken = `left(md5(gen_random_uuid()::text), 8)`

/** The token in the cursors of this store's changes. Another store has another token, also in the same database. */
export async function originOf(database: Database): Promise<string> {
  const row = await database.get("origin", `SELECT o.token FROM ${database.schema}.origin o`)
  return text(row ?? {}, "token")
}

/**
 * Renumbers the change stream of a database that came from another server. The places of the stream are numbers of transactions, which belong to a server. Rows
 * from a dump may have numbers that this server has not reached yet, and would be read only then. The new numbers keep the order. Older cursors are
 * refused, because they would point to other rows.
 */
export async function adoptStream(database: Database): Promise<boolean> {
  const { schema } = database
  if (!(await hasForeignRows(database))) return false
  return database.transaction(async (queries, client) => {
    const send = (text: string) => client.query({ text, query_timeout: migrationTimeoutMs })
    await lockMigrations(client, schema)
    // Another process may have renumbered the stream meanwhile.
    const again = await queries.get("foreign-changes", foreignRows(schema))
    if (again?.["found"] !== true) return false
    await send(`LOCK TABLE ${schema}.journal IN SHARE ROW EXCLUSIVE MODE`)
    await send(`UPDATE ${schema}.journal j SET xid = pg_current_xact_id(), seq = n.number
      FROM (SELECT k.instance, k.position, row_number() OVER (ORDER BY k.xid, k.seq) AS number FROM ${schema}.journal k) n
      WHERE j.instance = n.instance AND j.position = n.position`)
    await send(`UPDATE ${schema}.origin SET token = ${newToken}`)
    return true
  })
}

async function hasForeignRows(database: Database): Promise<boolean> {
  return (await database.get("foreign-changes", foreignRows(database.schema)))?.["found"] === true
}

/** Whether a row has the number of a transaction that this server has not begun yet. */
function foreignRows(schema: string): string {
  return `SELECT EXISTS (SELECT 1 FROM ${schema}.journal j WHERE j.xid >= pg_snapshot_xmax(pg_current_snapshot())) AS found`
}
