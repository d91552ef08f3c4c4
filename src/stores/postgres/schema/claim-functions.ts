import type { DefineFunction, Functions } from "./function-definitions.ts"
import { byHash, byIndex } from "./function-planner-settings.ts"

/** 1 for a new start, 0 for an instance that has begun. The indexes of claims contain this expression, and queries must use the same expression. */
export function isStartExpression(prefix = ""): string {
  return `(CASE WHEN ${prefix}status = 'queued' THEN 1 ELSE 0 END)`
}

const isStart = isStartExpression("i.")

/** By how much the server's clock may be set back without an effect on leases. */
const clockStepBackMsMax = 1_000

/**
 * The lease `l` has not expired. A lease that was renewed in the future counts as expired: the clock was ahead then, so the lease would end too late, and its
 * worker may be dead. If that worker lives, its next renewal corrects the lease.
 */
export function isLive(now: string): string {
  return `(l.until > ${now} AND coalesce(l.renewed_at, ${now}) <= ${now} + ${clockStepBackMsMax})`
}

/** `row`: the worker, the end of its lease, and the time. */
export function renewal(s: string, row: string): string {
  return `INSERT INTO ${s}.lease (worker, until, renewed_at) ${row}
        ON CONFLICT (worker) DO UPDATE SET until = excluded.until, renewed_at = excluded.renewed_at`
}

type Called = Functions<"nowMs" | "releaseDebounceKeys">

/** Functions about owners, leases, and which instances may be claimed. The caller does what concerns limits, under the locks of flow control. */
export function claimFunctions(s: string, defineFunction: DefineFunction, functions: Called) {
  // One look-up per owner, not per instance. A worker that claims is alive itself, whatever its lease says.
  const deadOwners = defineFunction(
    "dead_owners",
    `(claimer text, now bigint) RETURNS text[] LANGUAGE sql STABLE AS $$
      WITH RECURSIVE owners AS (
        (SELECT i.owner FROM ${s}.instance i WHERE i.owner IS NOT NULL ORDER BY i.owner LIMIT 1)
        UNION ALL
        SELECT (SELECT i.owner FROM ${s}.instance i WHERE i.owner IS NOT NULL AND i.owner > o.owner ORDER BY i.owner LIMIT 1) FROM owners o WHERE o.owner IS NOT NULL
      )
      SELECT array_agg(o.owner) FROM owners o
      WHERE o.owner IS NOT NULL AND o.owner <> claimer
        AND NOT EXISTS (SELECT 1 FROM ${s}.lease l WHERE l.worker = o.owner AND ${isLive("now")})
    $$`,
  )
  // Answers whether the lease of another worker has expired: then there is something to claim.
  const renewLease = defineFunction(
    "renew_lease",
    `(of_worker text, lease_ms bigint) RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      now bigint := ${functions.nowMs}();
    BEGIN
      ${renewal(s, "VALUES (of_worker, now + lease_ms, now)")};
      RETURN ${deadOwners}(of_worker, now) IS NOT NULL;
    END $$`,
  )
  const releaseInstances = defineReleaseInstances(s, defineFunction)
  const limitedWorkflows = defineLimitedWorkflows(s, defineFunction)
  const claimGroups = defineClaimGroups(s, defineFunction)
  return {
    deadOwners,
    renewLease,
    releaseInstances,
    limitedWorkflows,
    claimGroups,
    // New starts and begun instances are two ranges of the index: so two look-ups for each claim group.
    nextDue: defineFunction(
      "next_due",
      `(workflows text[], versions text[], queues text[]) RETURNS bigint LANGUAGE sql STABLE ${byIndex} AS $$
    SELECT min(d.at) FROM ${claimGroups}(workflows, versions, queues) l CROSS JOIN (VALUES (0), (1)) AS k (kind) CROSS JOIN LATERAL (
      SELECT i.claimable_at AS at FROM ${s}.instance i
      WHERE i.workflow = l.workflow AND i.version = l.version AND i.queue = l.queue AND i.priority = l.priority AND ${isStart} = k.kind
        AND i.claimable_at IS NOT NULL
      ORDER BY i.claimable_at LIMIT 1
    ) d
  $$`,
    ),
    claim: defineClaim(s, defineFunction, { ...functions, deadOwners, releaseInstances, limitedWorkflows, claimGroups }),
    lockFlowControl: defineLockFlowControl(s, defineFunction, functions),
    removeInstances: defineRemoveInstances(s, defineFunction),
  }
}

/** The queues and priorities of each workflow and version that have something to claim. A queue that is null stands for all queues. */
function defineClaimGroups(s: string, defineFunction: DefineFunction): string {
  return defineFunction(
    "claim_groups",
    `(workflows text[], versions text[], queues text[])
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
  )
}

/** Workflows of instances with limits that these owners have. OFFSET 0 avoids the index in the order of workflows, so that the index by owner is used. */
function defineLimitedWorkflows(s: string, defineFunction: DefineFunction): string {
  const workflows = (which: string) => `SELECT array_agg(DISTINCT l.workflow) FROM (
    SELECT i.workflow FROM ${s}.instance i WHERE ${which} AND i.owner = ANY (owners) AND i.limits IS NOT NULL OFFSET 0
  ) l`
  return defineFunction(
    "limited_workflows",
    `(owners text[], only_ids text[]) RETURNS text[] LANGUAGE plpgsql STABLE ${byIndex} AS $$
  BEGIN
    IF only_ids IS NULL THEN
      RETURN (${workflows("true")});
    END IF;
    RETURN (${workflows("i.id = ANY (only_ids)")});
  END $$`,
  )
}

/**
 * Takes the locks of flow control in one order, and reads the limits of these workflows. The limits are read after the locks are taken: each statement of a
 * function sees what was committed before that statement. There is at least one row, which has the time.
 */
function defineLockFlowControl(s: string, defineFunction: DefineFunction, functions: Functions<"nowMs">): string {
  return defineFunction(
    "lock_flow_control",
    `(of_workflows text[], place text)
  RETURNS TABLE (now bigint, workflow text, name text, max bigint, per_ms bigint, set_max bigint, set_per_ms bigint) LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(l.hash) FROM (SELECT DISTINCT hashtextextended(place || '/' || w, 1) AS hash FROM unnest(of_workflows) w ORDER BY 1) l;
    RETURN QUERY SELECT ${functions.nowMs}(), l.workflow::text, l.name::text, l.max, l.per_ms, l.set_max, l.set_per_ms
    FROM (SELECT 1) one LEFT JOIN ${s}.limits l ON l.workflow = ANY (of_workflows);
  END $$`,
  )
}

/**
 * Takes instances from their owners. An instance that was running must continue elsewhere, so it is due at once. Returns the keys of instances with limits that
 * sleep or wait: the caller releases their slots.
 */
function defineReleaseInstances(s: string, defineFunction: DefineFunction): string {
  return defineFunction(
    "release_instances",
    `(owners text[], as_crashed boolean, only_ids text[], with_limits text[], now bigint) RETURNS bigint[] LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    released text[];
    resting bigint[];
  BEGIN
    IF only_ids IS NULL THEN
      -- An instance whose row another transaction has locked is released at a later time: no worker could claim anything while this function waited.
      released := ARRAY(
        SELECT i.id FROM ${s}.instance i WHERE i.owner = ANY (owners) AND (i.limits IS NULL OR i.workflow = ANY (with_limits))
        ORDER BY i.id FOR NO KEY UPDATE SKIP LOCKED
      );
    ELSE
      -- A few of many instances are found by their ids.
      released := ARRAY(
        SELECT i.id FROM ${s}.instance i WHERE i.id = ANY (only_ids) AND i.owner = ANY (owners) AND (i.limits IS NULL OR i.workflow = ANY (with_limits))
        ORDER BY i.id FOR NO KEY UPDATE
      );
    END IF;
    WITH changed AS (
      UPDATE ${s}.instance i SET owner = NULL, crashed = as_crashed,
        due_at = CASE WHEN i.status = 'running' THEN least(coalesce(i.due_at, now), now) ELSE i.due_at END
      WHERE i.id = ANY (released)
      RETURNING i.key, i.limits, i.status
    )
    SELECT array_agg(key ORDER BY key) FILTER (WHERE limits IS NOT NULL AND status IN ('sleeping', 'waiting')) INTO resting FROM changed;
    RETURN coalesce(resting, '{}');
  END $$`,
  )
}

/** Removes instances that have ended. IS TRUE: rows are found by their ids, and not by an index of the status. */
function defineRemoveInstances(s: string, defineFunction: DefineFunction): string {
  return defineFunction(
    "remove_instances",
    `(ids text[]) RETURNS text[] LANGUAGE plpgsql ${byIndex} AS $$
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
    DELETE FROM ${s}.task WHERE instance = ANY (removed);
    DELETE FROM ${s}.inbox WHERE instance = ANY (gone);
    DELETE FROM ${s}.journal WHERE instance = ANY (gone);
    DELETE FROM ${s}.instance WHERE id = ANY (removed);
    RETURN coalesce(removed, '{}');
  END $$`,
  )
}

/**
 * Claims instances. If `undone` is true, nothing was claimed, and the caller must claim under the locks of flow control: an instance with limits is due that
 * does not hold all its slots, or that belonged to a dead worker. An instance that holds all its slots can be claimed here. The ORDER BY of each query names
 * the index to use, because a planner that takes the table for small would not. In each claim group, instances that have begun come before new starts, but for
 * `starts_min` new starts.
 */
function defineClaim(
  s: string,
  defineFunction: DefineFunction,
  functions: Called & Functions<"deadOwners" | "releaseInstances" | "limitedWorkflows" | "claimGroups">,
): string {
  const claimLocked = defineClaimLocked(s, defineFunction, functions)
  const isIn = "(i.limits IS NULL OR (i.queued_for IS NULL AND i.held = json_array_length(i.limits::json)))"
  const ofGroup = (kind: 0 | 1, most: string) => `ARRAY(
          SELECT i.id FROM ${s}.instance i
          WHERE i.workflow = claim_group.workflow AND i.version = claim_group.version AND i.queue = claim_group.queue AND i.priority = claim_group.priority AND ${isStart} = ${kind}
            AND i.claimable_at <= now AND ${isIn}
          ORDER BY i.claimable_at, i.key LIMIT ${most} FOR NO KEY UPDATE SKIP LOCKED
        )`
  return defineFunction(
    "claim",
    `(
    claimer text, workflows text[], versions text[], queues text[], most integer, starts_min integer, lease_ms bigint, only_ids text[]
  )
  RETURNS TABLE (undone boolean, at bigint, has_crashed boolean, instance ${s}.instance) LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    now bigint := ${functions.nowMs}();
    dead text[] := ${functions.deadOwners}(claimer, now);
    claim_group record;
    begun text[];
    found_ids text[] := '{}';
  BEGIN
    IF dead IS NOT NULL THEN
      IF ${functions.limitedWorkflows}(dead, NULL) IS NOT NULL THEN
        RETURN QUERY SELECT true, NULL::bigint, false, NULL::${s}.instance;
        RETURN;
      END IF;
      PERFORM ${functions.releaseInstances}(dead, true, NULL, '{}', now);
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
      FOR claim_group IN SELECT * FROM ${functions.claimGroups}(workflows, versions, queues) LOOP
        begun := ${ofGroup(0, "most")};
        found_ids := found_ids || begun || ${ofGroup(1, "least(most, greatest(most - cardinality(begun), starts_min))")};
      END LOOP;
    END IF;
    IF cardinality(found_ids) = 0 THEN
      RETURN;
    END IF;
    RETURN QUERY SELECT * FROM ${claimLocked}(claimer, found_ids, most, starts_min, now, lease_ms);
  END $$`,
  )
}

/** Gives rows that are locked to the claimer, and returns them as they were. The first `starts_min` new starts of a priority go before its other instances. */
function defineClaimLocked(s: string, defineFunction: DefineFunction, functions: Called): string {
  return defineFunction(
    "claim_locked",
    `(claimer text, found_ids text[], most integer, starts_min integer, now bigint, lease_ms bigint)
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
      SELECT ${functions.releaseDebounceKeys}(c.uniques, c.key) FROM chosen c WHERE c.uniques IS NOT NULL AND c.due_at <= now
    ), leased AS (
      ${renewal(s, "VALUES (claimer, now + lease_ms, now)")}
    )
    SELECT false, c.claimable_at, c.crashed, c.whole FROM chosen c WHERE (SELECT count(*) FROM begun) >= 0;
  END $$`,
  )
}
