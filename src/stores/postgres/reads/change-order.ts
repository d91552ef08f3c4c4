import type { Turn } from "../../../ports/journal-store.ts"
import { toText } from "../../shared/unsafe-text.ts"
import type { Queries } from "../connection/database.ts"

/**
 * Keeps the changes of an instance in order. The change stream is in the order of the numbers of transactions. A transaction of the store begins just before
 * it writes, so its number is higher than those of the instance's earlier rows. A caller's transaction may be older than the instance's last row. Then its
 * new rows take the number of that last row. No reader has passed that place: readers wait for the oldest open transaction, which is this one or an older one.
 */
export async function keepOrder(queries: Queries, schema: string, turns: readonly Turn[]): Promise<void> {
  await queries.all(
    "keep-order",
    `WITH given AS MATERIALIZED (
      SELECT i.key, g.position FROM unnest($1::text[], $2::bigint[]) AS g (id, position) JOIN ${schema}.instance i ON i.id = g.id
    ), before AS MATERIALIZED (
      SELECT g.key, g.position, (SELECT p.xid FROM ${schema}.journal p WHERE p.instance = g.key AND p.position < g.position ORDER BY p.position DESC LIMIT 1) AS xid
      FROM given g
    )
    UPDATE ${schema}.journal j SET xid = b.xid FROM before b WHERE j.instance = b.key AND j.position = b.position AND j.xid < b.xid`,
    turns.map(({ instance }) => toText(instance)),
    turns.map(({ position }) => position),
  )
}
