import { byHash, byIndex } from "./function-planner-settings.ts"

/** 1 for a new start, 0 for an instance that has begun. The indexes of claims hold this expression, and a query must use the same one. */
export function isStartExpression(prefix = ""): string {
  return `(CASE WHEN ${prefix}status = 'queued' THEN 1 ELSE 0 END)`
}

const isStart = isStartExpression("i.")

/** By how much the server's clock may be set back without an effect on leases. */
const backMsMax = 1_000

/**
 * The lease `l` is not over. One that was renewed in the future is: the clock was ahead then, so it would end too late, and its worker may be dead. If
 * it lives, its next renewal makes up for that.
 */
export function isLive(now: string): string {
  return `(l.until > ${now} AND coalesce(l.renewed_at, ${now}) <= ${now} + ${backMsMax})`
}

/** One look-up per owner, not per instance. A worker that claims is alive itself, whatever became of its lease. `isDated`: leases tell when they were renewed. */
export function deadOwnersFunction(s: string, isDated = false): string {
  return `CREATE OR REPLACE FUNCTION ${s}.dead_owners(claimer text, now bigint) RETURNS text[] LANGUAGE sql STABLE AS $$
      WITH RECURSIVE owners AS (
        (SELECT i.owner FROM ${s}.instance i WHERE i.owner IS NOT NULL ORDER BY i.owner LIMIT 1)
        UNION ALL
        SELECT (SELECT i.owner FROM ${s}.instance i WHERE i.owner IS NOT NULL AND i.owner > o.owner ORDER BY i.owner LIMIT 1) FROM owners o WHERE o.owner IS NOT NULL
      )
      SELECT array_agg(o.owner) FROM owners o
      WHERE o.owner IS NOT NULL AND o.owner <> claimer
        AND NOT EXISTS (SELECT 1 FROM ${s}.lease l WHERE l.worker = o.owner AND ${isDated ? isLive("now") : "l.until > now"})
    $$`
}

/** Answers whether somebody else's lease is over: then there is something to claim. */
export function renewFunction(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.renew(of_worker text, lease_ms bigint) RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      now bigint := ${s}.now_ms();
    BEGIN
      ${renewal(s, "VALUES (of_worker, now + lease_ms, now)")};
      RETURN ${s}.dead_owners(of_worker, now) IS NOT NULL;
    END $$`
}

/** `row`: the worker, the end of its lease, and the time. */
export function renewal(s: string, row: string): string {
  return `INSERT INTO ${s}.lease (worker, until, renewed_at) ${row}
        ON CONFLICT (worker) DO UPDATE SET until = excluded.until, renewed_at = excluded.renewed_at`
}

/** Owners, leases, and who may have what. What concerns limits is done by the caller, under the locks of flow control. */
export function claimFunctions(s: string): readonly string[] {
  return [
    deadOwnersFunction(s),
    disownFunction(s),
    limitedWorkflowsFunction(s),
    // Where something waits: the queues and priorities of each workflow and version. A queue that is null stands for all.
    `CREATE FUNCTION ${s}.lots(workflows text[], versions text[], queues text[])
    RETURNS TABLE (workflow text, version text, queue text, priority bigint) LANGUAGE plpgsql STABLE AS $$
    DECLARE
      o record;
    BEGIN
      FOR o IN SELECT * FROM unnest(workflows, versions, queues) AS f (workflow, version, queue) LOOP
        IF o.queue IS NULL THEN
          RETURN QUERY
          WITH RECURSIVE l AS (
            (SELECT i.queue, i.priority FROM ${s}.instance i
              WHERE i.workflow = o.workflow AND i.version = o.version AND i.claimable_at IS NOT NULL ORDER BY i.queue, i.priority LIMIT 1)
            UNION ALL
            SELECT n.queue, n.priority FROM l CROSS JOIN LATERAL (
              SELECT i.queue, i.priority FROM ${s}.instance i
              WHERE i.workflow = o.workflow AND i.version = o.version AND i.claimable_at IS NOT NULL AND (i.queue, i.priority) > (l.queue, l.priority)
              ORDER BY i.queue, i.priority LIMIT 1
            ) n
          )
          SELECT o.workflow, o.version, l.queue::text, l.priority FROM l;
        ELSE
          RETURN QUERY
          WITH RECURSIVE l AS (
            (SELECT i.priority FROM ${s}.instance i
              WHERE i.workflow = o.workflow AND i.version = o.version AND i.queue = o.queue AND i.claimable_at IS NOT NULL ORDER BY i.priority LIMIT 1)
            UNION ALL
            SELECT n.priority FROM l CROSS JOIN LATERAL (
              SELECT i.priority FROM ${s}.instance i
              WHERE i.workflow = o.workflow AND i.version = o.version AND i.queue = o.queue AND i.claimable_at IS NOT NULL AND i.priority > l.priority
              ORDER BY i.priority LIMIT 1
            ) n
          )
          SELECT o.workflow, o.version, o.queue, l.priority FROM l;
        END IF;
      END LOOP;
    END $$`,
    nextDueFunction(s),
    claimFunction(s),
    renewFunction(s),
    removeFunction(s),
  ]
}

/** Workflows of instances with limits that these owners have. OFFSET 0: not by an index in the order of workflows, so that the same ones stand together. */
export function limitedWorkflowsFunction(s: string): string {
  const workflows = (which: string) => `SELECT array_agg(DISTINCT l.workflow) FROM (
    SELECT i.workflow FROM ${s}.instance i WHERE ${which} AND i.owner = ANY (owners) AND i.limits IS NOT NULL OFFSET 0
  ) l`
  return `CREATE OR REPLACE FUNCTION ${s}.limited_workflows(owners text[], only_ids text[]) RETURNS text[] LANGUAGE plpgsql STABLE ${byIndex} AS $$
  BEGIN
    IF only_ids IS NULL THEN
      RETURN (${workflows("true")});
    END IF;
    RETURN (${workflows("i.id = ANY (only_ids)")});
  END $$`
}

/**
 * The locks of flow control, in one order, and then what limits these workflows have: read behind the locks, as each statement of a function
 * sees what was committed before it. One row at least, which has the time.
 */
export function lockFlowFunction(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.lock_flow(of_workflows text[], place text)
  RETURNS TABLE (now bigint, workflow text, name text, max bigint, per_ms bigint, set_max bigint, set_per_ms bigint) LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(l.hash) FROM (SELECT DISTINCT hashtextextended(place || '/' || w, 1) AS hash FROM unnest(of_workflows) w ORDER BY 1) l;
    RETURN QUERY SELECT ${s}.now_ms(), l.workflow::text, l.name::text, l.max, l.per_ms, l.set_max, l.set_per_ms
    FROM (SELECT 1) one LEFT JOIN ${s}.limits l ON l.workflow = ANY (of_workflows);
  END $$`
}

/** What was running when its owner went must go on somewhere: it is due at once. */
export function disownFunction(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.disown(owners text[], as_crashed boolean, only_ids text[], with_limits text[], now bigint) RETURNS bigint[] LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    gone text[];
    resting bigint[];
  BEGIN
    IF only_ids IS NULL THEN
      -- One that somebody has in an open transaction comes another time: nobody could claim anything while this waited for it.
      gone := ARRAY(
        SELECT i.id FROM ${s}.instance i WHERE i.owner = ANY (owners) AND (i.limits IS NULL OR i.workflow = ANY (with_limits))
        ORDER BY i.id FOR NO KEY UPDATE SKIP LOCKED
      );
    ELSE
      -- Few of many: by their ids.
      gone := ARRAY(
        SELECT i.id FROM ${s}.instance i WHERE i.id = ANY (only_ids) AND i.owner = ANY (owners) AND (i.limits IS NULL OR i.workflow = ANY (with_limits))
        ORDER BY i.id FOR NO KEY UPDATE
      );
    END IF;
    WITH changed AS (
      UPDATE ${s}.instance i SET owner = NULL, crashed = as_crashed,
        due_at = CASE WHEN i.status = 'running' THEN least(coalesce(i.due_at, now), now) ELSE i.due_at END
      WHERE i.id = ANY (gone)
      RETURNING i.key, i.limits, i.status
    )
    SELECT array_agg(key ORDER BY key) FILTER (WHERE limits IS NOT NULL AND status IN ('sleeping', 'waiting')) INTO resting FROM changed;
    RETURN coalesce(resting, '{}');
  END $$`
}

/** IS TRUE: by their ids, and not by an index of what their status is. */
export function removeFunction(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.remove_instances(ids text[]) RETURNS text[] LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    gone bigint[];
    removed text[];
    tagged record;
  BEGIN
    WITH ended AS (
      SELECT i.key, i.id FROM ${s}.instance i
      WHERE i.id = ANY (ids) AND (i.status IN ('completed', 'failed', 'cancelled', 'terminated')) IS TRUE ORDER BY i.id FOR UPDATE
    )
    SELECT array_agg(key), array_agg(id) INTO gone, removed FROM ended;
    FOR tagged IN SELECT i.key, i.created_at, i.tags FROM ${s}.instance i WHERE i.id = ANY (removed) AND i.tags IS NOT NULL LOOP
      DELETE FROM ${s}.tag t
      WHERE t.tag = ANY (ARRAY(SELECT jsonb_array_elements_text(tagged.tags::jsonb))) AND t.created_at = tagged.created_at AND t.instance = tagged.key;
    END LOOP;
    DELETE FROM ${s}.inbox WHERE instance = ANY (gone);
    DELETE FROM ${s}.journal WHERE instance = ANY (gone);
    DELETE FROM ${s}.instance WHERE id = ANY (removed);
    RETURN coalesce(removed, '{}');
  END $$`
}

/** Each kind has its place in the index: so two looks for each lot. */
export function nextDueFunction(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.next_due(workflows text[], versions text[], queues text[]) RETURNS bigint LANGUAGE sql STABLE ${byIndex} AS $$
    SELECT min(d.at) FROM ${s}.lots(workflows, versions, queues) l CROSS JOIN (VALUES (0), (1)) AS k (kind) CROSS JOIN LATERAL (
      SELECT i.claimable_at AS at FROM ${s}.instance i
      WHERE i.workflow = l.workflow AND i.version = l.version AND i.queue = l.queue AND i.priority = l.priority AND ${isStart} = k.kind
        AND i.claimable_at IS NOT NULL
      ORDER BY i.claimable_at LIMIT 1
    ) d
  $$`
}

/** Code from before new starts had a share calls this. */
export function claimFunction(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.claim(claimer text, workflows text[], versions text[], queues text[], most integer, lease_ms bigint, only_ids text[])
  RETURNS TABLE (undone boolean, at bigint, has_crashed boolean, instance ${s}.instance) LANGUAGE plpgsql AS $$
  BEGIN
    RETURN QUERY SELECT * FROM ${s}.claim_in_order(claimer, workflows, versions, queues, most, 0, lease_ms, only_ids);
  END $$`
}

/**
 * Undone where `undone` is true: something with limits is due that has not all its slots, or was of a worker that is dead. What has them is let in
 * already, and to claim it changes nothing about them. The order in which these are looked for says by which index: nothing else would, to a
 * planner that takes all for few. Of each lot, instances that have begun come before new starts, but for `starts_min` of them.
 */
export function claimInOrderFunction(s: string): string {
  const isIn = "(i.limits IS NULL OR (i.parked_on IS NULL AND i.held = json_array_length(i.limits::json)))"
  const ofLot = (kind: 0 | 1, most: string) => `ARRAY(
          SELECT i.id FROM ${s}.instance i
          WHERE i.workflow = lot.workflow AND i.version = lot.version AND i.queue = lot.queue AND i.priority = lot.priority AND ${isStart} = ${kind}
            AND i.claimable_at <= now AND ${isIn}
          ORDER BY i.claimable_at, i.key LIMIT ${most} FOR NO KEY UPDATE SKIP LOCKED
        )`
  return `CREATE OR REPLACE FUNCTION ${s}.claim_in_order(
    claimer text, workflows text[], versions text[], queues text[], most integer, starts_min integer, lease_ms bigint, only_ids text[]
  )
  RETURNS TABLE (undone boolean, at bigint, has_crashed boolean, instance ${s}.instance) LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    now bigint := ${s}.now_ms();
    dead text[] := ${s}.dead_owners(claimer, now);
    lot record;
    begun text[];
    found_ids text[] := '{}';
  BEGIN
    IF dead IS NOT NULL THEN
      IF ${s}.limited_workflows(dead, NULL) IS NOT NULL THEN
        RETURN QUERY SELECT true, NULL::bigint, false, NULL::${s}.instance;
        RETURN;
      END IF;
      PERFORM ${s}.disown(dead, true, NULL, '{}', now);
      DELETE FROM ${s}.lease l WHERE l.worker = ANY (dead) AND NOT ${isLive("now")};
    END IF;
    IF EXISTS (
      SELECT 1 FROM unnest(workflows, versions, queues) AS f (workflow, version, queue) CROSS JOIN LATERAL (
        SELECT 1 FROM ${s}.instance i
        WHERE i.workflow = f.workflow AND i.version = f.version AND i.limits IS NOT NULL AND i.claimable_at <= now AND NOT ${isIn}
          AND (f.queue IS NULL OR i.queue = f.queue) AND (only_ids IS NULL OR i.id = ANY (only_ids)) ORDER BY i.claimable_at LIMIT 1
      ) l
    ) THEN
      RETURN QUERY SELECT true, NULL::bigint, false, NULL::${s}.instance;
      RETURN;
    END IF;
    IF only_ids IS NOT NULL THEN
      found_ids := ARRAY(
        SELECT i.id FROM ${s}.instance i
        WHERE EXISTS (
          SELECT 1 FROM unnest(workflows, versions, queues) AS f (workflow, version, queue)
          WHERE i.workflow = f.workflow AND i.version = f.version AND (f.queue IS NULL OR i.queue = f.queue) OFFSET 0
        ) AND i.id = ANY (only_ids) AND i.claimable_at <= now AND ${isIn}
        FOR NO KEY UPDATE OF i SKIP LOCKED
      );
    ELSE
      FOR lot IN SELECT * FROM ${s}.lots(workflows, versions, queues) LOOP
        begun := ${ofLot(0, "most")};
        found_ids := found_ids || begun || ${ofLot(1, "least(most, greatest(most - cardinality(begun), starts_min))")};
      END LOOP;
    END IF;
    IF cardinality(found_ids) = 0 THEN
      RETURN;
    END IF;
    RETURN QUERY SELECT * FROM ${s}.take_first(claimer, found_ids, most, starts_min, now, lease_ms);
  END $$`
}

/** Gives rows that are locked to the claimer, and says what they were. The first `starts_min` new starts of a priority go before the others of it. */
export function takeFirstFunction(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.take_first(claimer text, found_ids text[], most integer, starts_min integer, now bigint, lease_ms bigint)
  RETURNS TABLE (undone boolean, at bigint, has_crashed boolean, instance ${s}.instance) LANGUAGE plpgsql ${byHash} AS $$
  BEGIN
    RETURN QUERY
    WITH ranked AS MATERIALIZED (
      SELECT i.*, i AS whole, ${isStart} AS kind,
        row_number() OVER (PARTITION BY i.priority, ${isStart} ORDER BY i.claimable_at, i.key) AS nth
      FROM ${s}.instance i WHERE i.id = ANY (found_ids)
    ), chosen AS MATERIALIZED (
      SELECT * FROM ranked r ORDER BY r.priority DESC, r.kind = 0 OR r.nth > starts_min, r.kind, r.claimable_at, r.key LIMIT most
    ), taken AS (
      UPDATE ${s}.instance i SET owner = claimer, crashed = false FROM chosen c WHERE i.id = ANY (found_ids) AND i.id = c.id
    ), begun AS (
      SELECT ${s}.free_debounce(c.uniques, c.key) FROM chosen c WHERE c.uniques IS NOT NULL AND c.due_at <= now
    ), leased AS (
      ${renewal(s, "VALUES (claimer, now + lease_ms, now)")}
    )
    SELECT false, c.claimable_at, c.crashed, c.whole FROM chosen c WHERE (SELECT count(*) FROM begun) >= 0;
  END $$`
}
