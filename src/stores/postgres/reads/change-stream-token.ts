import { lockMigrations, migrationTimeoutMs } from "../schema/migration-lock.ts"
import { text } from "./columns.ts"
import type { Database } from "../connection/database.ts"

/** SQL for a token of eight characters. */
export const newToken = `left(md5(gen_random_uuid()::text), 8)`

/** What tells the cursors of this store's changes from those of another, also of one in the same database. */
export async function originOf(database: Database): Promise<string> {
  const row = await database.get("origin", `SELECT o.token FROM ${database.schema}.origin o`)
  return text(row ?? {}, "token")
}

/**
 * The places of the stream are numbers of transactions, which belong to a server. Rows that came from another one by a dump may have numbers
 * that are still to come here, and would be read only then. Such a stream is numbered anew, in its order, and cursors from before are
 * refused: they would lead elsewhere.
 */
export async function adoptStream(database: Database): Promise<boolean> {
  const { schema } = database
  if (!(await hasForeignRows(database))) return false
  return database.transaction(async (queries, client) => {
    const send = (text: string) => client.query({ text, query_timeout: migrationTimeoutMs })
    await lockMigrations(client, schema)
    // Another process may have been first.
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

/** No row that can be seen was written by a transaction that is yet to begin. */
function foreignRows(schema: string): string {
  return `SELECT EXISTS (SELECT 1 FROM ${schema}.journal j WHERE j.xid >= pg_snapshot_xmax(pg_current_snapshot())) AS found`
}
