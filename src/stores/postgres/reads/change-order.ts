import type { Turn } from "../../../ports/journal-store.ts"
import { toText } from "../../shared/unsafe-text.ts"
import type { Queries } from "../connection/database.ts"

/**
 * The stream of changes goes by the numbers of transactions. Ours are begun for what they write, and so are younger than all that an instance
 * had before. A caller's may be older than the instance that it adds to: what it adds takes the number of what is there. Nobody has passed
 * that place: all readers wait for the oldest transaction that is open, and that is this one, or one that is older still.
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
