import { byIndex } from "./function-planner-settings.ts"

/** Of each instance the oldest messages that are newer than what `afters` names; `most`: at most so many of each, or all. */
export function readInboxPartFunction(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.read_inbox_part(ids text[], afters bigint[], most bigint)
    RETURNS TABLE (seq bigint, id text, kind text, at bigint, topic text, event_id text, payload text) LANGUAGE plpgsql STABLE ${byIndex} AS $$
    #variable_conflict use_column
    BEGIN
      RETURN QUERY
      SELECT m.seq, g.id, m.kind, m.at, m.topic, m.event_id::text, m.payload FROM unnest(ids, afters) AS g (id, after)
      CROSS JOIN LATERAL (SELECT n.key FROM ${s}.instance n WHERE n.id = g.id OFFSET 0) i
      CROSS JOIN LATERAL (SELECT u.* FROM ${s}.inbox u WHERE u.instance = i.key AND u.seq > g.after ORDER BY u.seq LIMIT most) m ORDER BY m.seq;
    END $$`
}

/**
 * What workers read all day. As functions, because a statement that a connection has prepared keeps its plan: one from when the tables were
 * small would go on looking through them when they are not.
 */
export function readFunctions(s: string): readonly string[] {
  const reader = (head: string, query: string) => `CREATE OR REPLACE FUNCTION ${s}.${head} LANGUAGE sql STABLE ${byIndex} AS $$ ${query} $$`
  return [
    reader(`owned(worker text) RETURNS SETOF text`, `SELECT i.id FROM ${s}.instance i WHERE i.owner = worker`),
    reader(
      `unread(worker text, most bigint) RETURNS SETOF text`,
      `SELECT i.id FROM ${s}.instance i WHERE i.owner = worker AND i.mail_at IS NOT NULL LIMIT most`,
    ),
    reader(
      `read_inbox(ids text[]) RETURNS TABLE (seq bigint, id text, kind text, at bigint, topic text, event_id text, payload text)`,
      `SELECT m.seq, i.id, m.kind, m.at, m.topic, m.event_id, m.payload
      FROM (SELECT n.key, n.id FROM ${s}.instance n WHERE n.id = ANY (ids) OFFSET 0) i
      CROSS JOIN LATERAL (SELECT u.* FROM ${s}.inbox u WHERE u.instance = i.key OFFSET 0) m ORDER BY m.seq`,
    ),
    reader(
      `read_journal(of_id text, first bigint) RETURNS SETOF ${s}.journal`,
      `SELECT j.* FROM (SELECT n.key FROM ${s}.instance n WHERE n.id = of_id OFFSET 0) i CROSS JOIN LATERAL (
        SELECT e.* FROM ${s}.journal e
        WHERE e.instance = i.key AND e.position >= coalesce((SELECT max(b.position) FROM ${s}.journal b WHERE b.instance = i.key AND b.position <= first), 0) OFFSET 0
      ) j ORDER BY j.position`,
    ),
  ]
}
