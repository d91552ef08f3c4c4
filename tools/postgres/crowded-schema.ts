// Fills the schema of a store with sleeping and ended instances, by one statement of PostgreSQL.

import type pg from "pg"

/** Creates `count` instances of each kind, of workflow "order", version "1", with the ids "sleeping-1", "ended-1" and so on. They begin one millisecond apart, from `from` on. */
export async function crowdSchema(
  pool: pg.Pool,
  schema: string,
  count: number,
  { from, wakeAt }: { readonly from: number; readonly wakeAt: number },
): Promise<void> {
  const kinds = [
    { name: "sleeping", status: "sleeping", dueAt: `${wakeAt} + n`, endPosition: "NULL" },
    { name: "ended", status: "completed", dueAt: "NULL", endPosition: "2" },
  ]
  for (const { name, status, dueAt, endPosition } of kinds) {
    await pool.query(
      `WITH made AS (
        INSERT INTO ${schema}.instance (id, incarnation, workflow, version, created_at, updated_at, tags, status, due_at, run, run_position, end_position)
        SELECT '${name}-' || n, '${name}-' || n || '~1', 'order', '1', ${from} + n, ${from} + n, '["crowd"]', '${status}', ${dueAt}, 1, 1, ${endPosition}
        FROM generate_series(1, ${count}) AS n RETURNING key, created_at
      ), tagged AS (
        INSERT INTO ${schema}.tag (tag, created_at, instance) SELECT 'crowd', created_at, key FROM made
      )
      INSERT INTO ${schema}.journal (instance, position, count, run, at, seq, turn, entries)
      SELECT key, 1, 2, 1, created_at, key, '${name}.' || key, '[{"type":"run.started"}]' FROM made`,
    )
  }
}

export interface TableReads {
  /** Rows read by sequential scans. */
  readonly sequential: number
  /** Rows read by indexes. */
  readonly indexed: number
}

/** Counts the rows that were read of the tables that grow. The server counts the reads of a connection when the connection is closed. */
export async function readsOf(pool: pg.Pool, schema: string): Promise<TableReads> {
  const { rows } = await pool.query<{ sequential: string; indexed: string }>(
    `SELECT coalesce(sum(s.seq_tup_read), 0) AS sequential,
      coalesce((SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i WHERE i.schemaname = $1 AND i.relname ~ '^(instance|journal|inbox|tag)'), 0) AS indexed
    FROM pg_stat_user_tables s WHERE s.schemaname = $1 AND s.relname ~ '^(instance|journal|inbox|tag)'`,
    [schema],
  )
  return { sequential: Number(rows[0]?.sequential), indexed: Number(rows[0]?.indexed) }
}
