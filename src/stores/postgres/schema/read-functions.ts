import type { DefineFunction } from "./function-definitions.ts"
import { byIndex } from "./function-planner-settings.ts"

/**
 * Functions that read. They are functions because a statement that a connection has prepared keeps its plan: a plan from when the tables were small would scan
 * them when they are large. Functions that read many instances at once are PL/pgSQL, which plans its statements once per connection in every version of
 * PostgreSQL.
 */
export function readFunctions(s: string, defineFunction: DefineFunction) {
  const journal = `turn text, "position" bigint, count integer, run bigint, at bigint, entries text, blobs text[]`
  const columns = `j.turn::text, j.position, j.count, j.run, j.at, j.entries, j.blobs`
  return {
    ownedInstances: defineFunction(
      "owned_instances",
      `(worker text) RETURNS SETOF text LANGUAGE sql STABLE ${byIndex} AS $$ SELECT i.id FROM ${s}.instance i WHERE i.owner = worker $$`,
    ),
    instancesWithMessages: defineFunction(
      "instances_with_messages",
      `(worker text, most bigint) RETURNS SETOF text LANGUAGE sql STABLE ${byIndex} AS $$
      SELECT i.id FROM ${s}.instance i WHERE i.owner = worker AND i.mail_at IS NOT NULL LIMIT most
    $$`,
    ),
    // For each instance, the oldest messages that are newer than its place in `afters`. `most`: at most so many per instance; null: all.
    readInbox: defineFunction(
      "read_inbox",
      `(ids text[], afters bigint[], most bigint)
    RETURNS TABLE (seq bigint, id text, kind text, at bigint, topic text, event_id text, payload text) LANGUAGE plpgsql STABLE ${byIndex} AS $$
    #variable_conflict use_column
    BEGIN
      RETURN QUERY
      SELECT m.seq, g.id, m.kind, m.at, m.topic, m.event_id::text, m.payload FROM unnest(ids, afters) AS g (id, after)
      CROSS JOIN LATERAL (SELECT n.key FROM ${s}.instance n WHERE n.id = g.id OFFSET 0) i
      CROSS JOIN LATERAL (SELECT u.* FROM ${s}.inbox u WHERE u.instance = i.key AND u.seq > g.after ORDER BY u.seq LIMIT most) m ORDER BY m.seq;
    END $$`,
    ),
    readJournal: defineFunction(
      "read_journal",
      `(of_id text, first bigint) RETURNS SETOF ${s}.journal LANGUAGE sql STABLE ${byIndex} AS $$
      SELECT j.* FROM (SELECT n.key FROM ${s}.instance n WHERE n.id = of_id OFFSET 0) i CROSS JOIN LATERAL (
        SELECT e.* FROM ${s}.journal e
        WHERE e.instance = i.key AND e.position >= coalesce((SELECT max(b.position) FROM ${s}.journal b WHERE b.instance = i.key AND b.position <= first), 0) OFFSET 0
      ) j ORDER BY j.position
    $$`,
    ),
    // For each instance that has ended, also the row of the journal that holds the end.
    readStatuses: defineFunction(
      "read_statuses",
      `(ids text[]) RETURNS TABLE (n bigint, status text, end_position bigint, ${journal})
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
    ),
    readJournals: defineFunction(
      "read_journals",
      `(ids text[], firsts bigint[]) RETURNS TABLE (n bigint, ${journal})
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
    ),
  }
}
