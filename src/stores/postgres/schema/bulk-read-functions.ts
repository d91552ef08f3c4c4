import { byIndex } from "./function-planner-settings.ts"

/** What is read of many instances at once. In PL/pgSQL, which plans its statements once per connection in every version of PostgreSQL. */
export function setReadFunctions(s: string): readonly string[] {
  const journal = `turn text, "position" bigint, count integer, run bigint, at bigint, entries text, blobs text[]`
  const columns = `j.turn::text, j.position, j.count, j.run, j.at, j.entries, j.blobs`
  return [
    // Of those that are over, with the row of the journal that holds the end.
    `CREATE OR REPLACE FUNCTION ${s}.read_standings(ids text[]) RETURNS TABLE (n bigint, status text, end_position bigint, ${journal})
    LANGUAGE plpgsql STABLE ${byIndex} AS $$
    #variable_conflict use_column
    BEGIN
      RETURN QUERY
      SELECT g.n, i.status, i.ends_at, ${columns} FROM unnest(ids) WITH ORDINALITY AS g (id, n)
      CROSS JOIN LATERAL (
        SELECT k.key, k.status, coalesce(k.end_position, k.run_position) AS ends_at FROM ${s}.instance k WHERE k.id = g.id OFFSET 0
      ) i
      LEFT JOIN LATERAL (
        SELECT r.* FROM ${s}.journal r
        WHERE r.instance = i.key AND r.position <= i.ends_at AND i.status IN ('completed', 'failed', 'cancelled', 'terminated')
        ORDER BY r.position DESC LIMIT 1
      ) j ON true;
    END $$`,
    `CREATE OR REPLACE FUNCTION ${s}.read_journals(ids text[], firsts bigint[]) RETURNS TABLE (n bigint, ${journal})
    LANGUAGE plpgsql STABLE ${byIndex} AS $$
    #variable_conflict use_column
    BEGIN
      RETURN QUERY
      SELECT g.n, ${columns} FROM unnest(ids, firsts) WITH ORDINALITY AS g (id, first, n)
      CROSS JOIN LATERAL (SELECT k.key FROM ${s}.instance k WHERE k.id = g.id OFFSET 0) i
      CROSS JOIN LATERAL (
        SELECT r.* FROM ${s}.journal r
        WHERE r.instance = i.key AND r.position >= coalesce(
          (SELECT b.position FROM ${s}.journal b WHERE b.instance = i.key AND b.position <= g.first ORDER BY b.position DESC LIMIT 1), 0
        ) ORDER BY r.position OFFSET 0
      ) j ORDER BY g.n, j.position;
    END $$`,
  ]
}
