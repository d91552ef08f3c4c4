import type { DefineFunction, Functions } from "./function-definitions.ts"
import { byHash, byIndex } from "./function-planner-settings.ts"

/** A notification whose instances need more bytes than this names none (notification-payload.ts). */
const idsBytesMax = 4_000

const ended = `('completed', 'failed', 'cancelled', 'terminated')`

/**
 * Functions about the tasks of task queues. Whoever ends tasks locks first the rows of their instances and then the rows of the tasks, both in the order of
 * their ids, as turns do. So no two of them wait for each other. Claims wait for nobody.
 */
export function taskFunctions(s: string, defineFunction: DefineFunction, functions: Functions<"nowMs">) {
  const endTasks = defineEndTasks(s, defineFunction)
  return {
    writeTasks: defineWriteTasks(s, defineFunction),
    claimTasks: defineClaimTasks(s, defineFunction, functions),
    finishTasks: defineFinishTasks(s, defineFunction, { ...functions, endTasks }),
    expireTasks: defineExpireTasks(s, defineFunction, { ...functions, endTasks }),
    // `beats`: the activity has reported a heartbeat. Answers the ids of the tasks whose claims are renewed.
    keepTasks: defineFunction(
      "keep_tasks",
      `(ids text[], tokens text[], beats boolean[], new_details text[], lease_ms bigint) RETURNS SETOF text LANGUAGE plpgsql ${byHash} AS $$
    DECLARE
      now bigint := ${functions.nowMs}();
    BEGIN
      PERFORM 1 FROM ${s}.task t WHERE t.id = ANY (ids) ORDER BY t.id FOR UPDATE;
      RETURN QUERY
      UPDATE ${s}.task t SET
        lease_until = now + lease_ms,
        heartbeat_at = CASE WHEN g.beats THEN now ELSE t.heartbeat_at END,
        details = coalesce(g.details, t.details)
      FROM (
        SELECT k.id, k.token, bool_or(k.beats) AS beats, (array_agg(k.details ORDER BY k.n DESC) FILTER (WHERE k.details IS NOT NULL))[1] AS details
        FROM unnest(ids, tokens, beats, new_details) WITH ORDINALITY AS k (id, token, beats, details, n) GROUP BY k.id, k.token
      ) g
      WHERE t.id = ANY (ids) AND t.id = g.id AND t.token = g.token RETURNING t.id || ' ' || t.token;
    END $$`,
    ),
    findTasks: defineFunction(
      "find_tasks",
      `(ids text[]) RETURNS SETOF ${s}.task LANGUAGE sql STABLE ${byIndex} AS $$ SELECT t.* FROM ${s}.task t WHERE t.id = ANY (ids) $$`,
    ),
  }
}

/** Writes what the written turns of a batch say about tasks: first the tasks that end, then the new ones. `outcomes`: null if all turns were written. */
function defineWriteTasks(s: string, defineFunction: DefineFunction): string {
  const given = `FROM unnest(ids, incarnations, ats, extras, outcomes) WITH ORDINALITY AS t (id, incarnation, at, extra, outcome, n)`
  const isWritten = `t.extra IS NOT NULL AND (outcomes IS NULL OR t.outcome = 'written')`
  return defineFunction(
    "write_tasks",
    `(ids text[], incarnations text[], ats bigint[], extras json[], outcomes text[]) RETURNS void LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    of_instances text[];
    ending text[];
  BEGIN
    SELECT array_agg(k.id) INTO ending ${given}
    CROSS JOIN LATERAL json_array_elements_text(t.extra->'endsTasks') e
    CROSS JOIN LATERAL (SELECT x.id FROM ${s}.task x WHERE x.id = e AND x.instance = t.id OFFSET 0) k
    WHERE ${isWritten};
    SELECT array_agg(t.id) INTO of_instances ${given} WHERE ${isWritten} AND t.extra->'endsAllTasks' IS NOT NULL;
    IF of_instances IS NOT NULL THEN
      ending := ending || ARRAY(SELECT x.id FROM ${s}.task x WHERE x.instance = ANY (of_instances));
    END IF;
    IF cardinality(ending) > 0 THEN
      PERFORM 1 FROM ${s}.task x WHERE x.id = ANY (ending) ORDER BY x.id FOR UPDATE;
      DELETE FROM ${s}.task x WHERE x.id = ANY (ending);
    END IF;
    INSERT INTO ${s}.task (
      id, instance, incarnation, created_at, step, attempt, activity, queue, key, input, details, timeout_ms, heartbeat_ms, start_by, close_by, sensitive
    )
    SELECT o.id, o.instance, o.incarnation, o.at, o.step, o.attempt, o.activity, o.queue, o.key, o.input, o.details, o."timeoutMs", o."heartbeatMs", o."startBy", o."closeBy", o.sensitive
    FROM (
      SELECT t.id AS instance, t.incarnation, t.at, x.* ${given}
      CROSS JOIN LATERAL json_array_elements(t.extra->'tasks') WITH ORDINALITY AS g (task, place)
      CROSS JOIN LATERAL json_to_record(g.task) AS x (
        id text, step text, attempt bigint, activity text, queue text, key text, input text, details text,
        "timeoutMs" bigint, "heartbeatMs" bigint, "startBy" bigint, "closeBy" bigint, sensitive boolean
      )
      WHERE ${isWritten} ORDER BY t.n, g.place OFFSET 0
    ) o;
  END $$`,
  )
}

/**
 * Gives waiting tasks to a worker. A lane is a queue and an activity. The search visits only lanes that have waiting tasks. It counts, without locks, how many
 * of the oldest tasks each lane has, and then takes that number of tasks from each lane that no other transaction has locked. So it never locks a task that it does
 * not take. If other workers took tasks meanwhile that were counted, it counts again.
 * `of_queues`: null stands for all. With `rate_max`, it has one queue.
 */
function defineClaimTasks(s: string, defineFunction: DefineFunction, functions: Functions<"nowMs">): string {
  const isWaiting = "t.token IS NULL AND (t.expires_at IS NULL OR t.expires_at > now)"
  return defineFunction(
    "claim_tasks",
    `(
    claimer text, claim_token text, of_queues text[], of_activities text[], most integer, lease_ms bigint, rate_max bigint, rate_ms bigint
  ) RETURNS SETOF ${s}.task LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    now bigint := ${functions.nowMs}();
    lane_queues text[];
    lane_activities text[];
    lane record;
    period record;
    counted integer;
    taken text[];
    found_ids text[] := '{}';
  BEGIN
    WITH RECURSIVE queues AS (
      (SELECT t.queue FROM ${s}.task t WHERE of_queues IS NULL AND t.token IS NULL ORDER BY t.queue LIMIT 1)
      UNION ALL
      SELECT n.queue FROM queues q CROSS JOIN LATERAL (
        SELECT t.queue FROM ${s}.task t WHERE t.token IS NULL AND t.queue > q.queue ORDER BY t.queue LIMIT 1
      ) n
    ), wanted AS (
      SELECT q.queue FROM queues q UNION ALL SELECT DISTINCT u FROM unnest(of_queues) u
    ), lanes AS (
      SELECT w.queue, a.activity FROM wanted w CROSS JOIN LATERAL (
        SELECT t.activity FROM ${s}.task t WHERE t.token IS NULL AND t.queue = w.queue ORDER BY t.activity LIMIT 1
      ) a
      UNION ALL
      SELECT l.queue, a.activity FROM lanes l CROSS JOIN LATERAL (
        SELECT t.activity FROM ${s}.task t WHERE t.token IS NULL AND t.queue = l.queue AND t.activity > l.activity ORDER BY t.activity LIMIT 1
      ) a
    )
    SELECT array_agg(l.queue), array_agg(l.activity) INTO lane_queues, lane_activities FROM lanes l WHERE l.activity = ANY (of_activities);
    IF lane_queues IS NULL OR most <= 0 THEN
      RETURN;
    END IF;
    IF rate_max IS NOT NULL THEN
      INSERT INTO ${s}.task_rate (queue, since, claimed) VALUES (of_queues[1], now, 0) ON CONFLICT (queue) DO NOTHING;
      SELECT r.since, r.claimed INTO period FROM ${s}.task_rate r WHERE r.queue = of_queues[1] FOR UPDATE;
      -- The lock may have taken a while.
      now := ${functions.nowMs}();
      IF period.since > now OR now >= period.since + rate_ms THEN
        period.since := now;
        period.claimed := 0;
      END IF;
      most := least(most, greatest(0, rate_max - period.claimed));
    END IF;
    FOR attempt IN 1..3 LOOP
      counted := 0;
      FOR lane IN
        SELECT c.queue, c.activity, count(*)::integer AS share FROM (
          SELECT l.queue, l.activity FROM unnest(lane_queues, lane_activities) AS l (queue, activity) CROSS JOIN LATERAL (
            SELECT t.seq FROM ${s}.task t WHERE t.queue = l.queue AND t.activity = l.activity AND ${isWaiting} ORDER BY t.seq LIMIT most - cardinality(found_ids)
          ) w ORDER BY w.seq LIMIT most - cardinality(found_ids)
        ) c GROUP BY c.queue, c.activity
      LOOP
        counted := counted + lane.share;
        WITH claimed AS (
          UPDATE ${s}.task x SET worker = claimer, token = claim_token, claimed_at = now, heartbeat_at = now, lease_until = now + lease_ms
          WHERE x.id = ANY (ARRAY(
            SELECT t.id FROM ${s}.task t WHERE t.queue = lane.queue AND t.activity = lane.activity AND ${isWaiting}
            ORDER BY t.seq LIMIT lane.share FOR UPDATE SKIP LOCKED
          )) RETURNING x.id
        )
        SELECT array_agg(c.id) INTO taken FROM claimed c;
        found_ids := found_ids || coalesce(taken, '{}');
        counted := counted - coalesce(cardinality(taken), 0);
      END LOOP;
      EXIT WHEN counted = 0;
    END LOOP;
    IF rate_max IS NOT NULL AND cardinality(found_ids) > 0 THEN
      UPDATE ${s}.task_rate r SET since = period.since, claimed = period.claimed + cardinality(found_ids) WHERE r.queue = of_queues[1];
    END IF;
    RETURN QUERY SELECT t.* FROM ${s}.task t WHERE t.id = ANY (found_ids) ORDER BY t.seq;
  END $$`,
  )
}

/**
 * Deletes tasks, and delivers their endings. A task ends if it has the claim of its token, or, with `expired_by`, if its time is over. The details of the last
 * heartbeat are JSON, and are added to an ending as its first field. Answers for each task that ended its place among the given ones. `was_alone`: the
 * inbox was empty. `new_seq`: null if the instance has ended, and the message was dropped.
 */
function defineEndTasks(s: string, defineFunction: DefineFunction): string {
  return defineFunction(
    "end_tasks",
    `(ids text[], tokens text[], endings text[], adds_details boolean[], expired_by bigint, now bigint)
  RETURNS TABLE (place bigint, of_instance text, of_key bigint, new_seq bigint, was_alone boolean) LANGUAGE plpgsql ${byHash} AS $$
  DECLARE
    of_instances text[] := ARRAY(SELECT DISTINCT t.instance FROM ${s}.task t WHERE t.id = ANY (ids));
  BEGIN
    IF cardinality(of_instances) = 0 THEN
      RETURN;
    END IF;
    PERFORM 1 FROM ${s}.instance i WHERE i.id = ANY (of_instances) ORDER BY i.id FOR NO KEY UPDATE;
    PERFORM 1 FROM ${s}.task t WHERE t.id = ANY (ids) ORDER BY t.id FOR UPDATE;
    RETURN QUERY
    WITH gone AS (
      DELETE FROM ${s}.task t USING (
        SELECT DISTINCT ON (k.id, k.token) k.* FROM unnest(ids, tokens, endings, adds_details) WITH ORDINALITY AS k (id, token, ending, adds, n)
        ORDER BY k.id, k.token, k.n
      ) g
      WHERE t.id = ANY (ids) AND t.id = g.id AND CASE WHEN expired_by IS NULL THEN t.token = g.token ELSE t.expires_at <= expired_by END
      RETURNING g.n, t.id, t.instance, t.incarnation, t.step, CASE
        WHEN NOT g.adds OR t.details IS NULL THEN g.ending
        ELSE '{"details":' || t.details || CASE WHEN g.ending = '{}' THEN '}' ELSE ',' || substr(g.ending, 2) END
      END AS payload
    ), open AS (
      SELECT e.*, i.key, i.mail_at IS NULL AS was_empty FROM gone e JOIN ${s}.instance i ON i.id = e.instance
      WHERE i.id = ANY (of_instances) AND i.incarnation = e.incarnation AND i.status NOT IN ${ended}
    ), delivered AS (
      INSERT INTO ${s}.inbox AS m (instance, kind, at, topic, event_id, payload)
      SELECT o.key, 'activity', now, o.step, o.id, o.payload FROM (SELECT p.* FROM open p ORDER BY p.n OFFSET 0) o
      RETURNING m.seq, m.event_id
    ), woken AS (
      UPDATE ${s}.instance i SET mail_at = now WHERE i.id = ANY (of_instances) AND i.mail_at IS NULL AND i.key IN (SELECT o.key FROM open o)
    )
    SELECT e.n, e.instance::text, o.key, d.seq, coalesce(o.was_empty, false)
    FROM gone e LEFT JOIN open o ON o.n = e.n LEFT JOIN delivered d ON d.event_id = e.id;
  END $$`,
  )
}

/**
 * Answers the instance of each task that has ended; null: the claim has ended before. With `sender`, listeners are notified with the commit, and a single
 * message that is alone in its inbox is pushed itself, as `deliver_and_notify` does. Text that is stored in another form is not pushed.
 */
function defineFinishTasks(s: string, defineFunction: DefineFunction, functions: Functions<"nowMs" | "endTasks">): string {
  return defineFunction(
    "finish_tasks",
    `(ids text[], tokens text[], endings text[], adds_details boolean[], sender text, channel text, push_channel text, push_bytes_max integer)
  RETURNS text[] LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    now bigint := ${functions.nowMs}();
    outcomes text[] := array_fill(NULL::text, ARRAY[cardinality(ids)]);
    it record;
    pushed text;
    told text[] := '{}';
    payload text;
  BEGIN
    FOR it IN SELECT * FROM ${functions.endTasks}(ids, tokens, endings, adds_details, NULL, now) LOOP
      outcomes[it.place] := it.of_instance;
      IF it.new_seq IS NOT NULL THEN told := told || it.of_instance; END IF;
    END LOOP;
    IF sender IS NULL OR cardinality(told) = 0 THEN
      RETURN outcomes;
    END IF;
    payload := '{"m":' || to_json(told);
    IF octet_length(payload) > ${idsBytesMax} OR strpos(array_to_string(told, ''), chr(1)) > 0 THEN
      PERFORM pg_notify(channel, sender || ':w');
      RETURN outcomes;
    END IF;
    IF cardinality(ids) = 1 AND it.was_alone THEN
      SELECT json_build_object(
        'sender', sender, 'instance', told[1], 'kind', m.kind, 'at', m.at, 'topic', m.topic, 'payload', m.payload, 'eventId', m.event_id, 'seq', m.seq
      )::text INTO pushed
      FROM ${s}.inbox m
      WHERE m.instance = it.of_key AND m.seq = it.new_seq AND strpos(concat(m.topic, m.payload, m.event_id), chr(1)) = 0 AND octet_length(m.payload) <= push_bytes_max;
    END IF;
    IF octet_length(pushed) <= push_bytes_max THEN
      PERFORM pg_notify(push_channel, pushed), pg_notify(channel, sender || ':m:' || payload || ',"pushed":1}');
    ELSE
      PERFORM pg_notify(channel, sender || ':m:' || payload || '}');
    END IF;
    RETURN outcomes;
  END $$`,
  )
}

/** Ends tasks whose time is over, for the first reason that holds (src/stores/shared/task-expiry.ts). */
function defineExpireTasks(s: string, defineFunction: DefineFunction, functions: Functions<"nowMs" | "endTasks">): string {
  return defineFunction(
    "expire_tasks",
    `(most integer, OUT instances text[], OUT next_at bigint) LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    now bigint := ${functions.nowMs}();
    ids text[];
    endings text[];
  BEGIN
    instances := '{}';
    SELECT array_agg(e.id), array_agg('{"expired":"' || e.reason || '"}') INTO ids, endings FROM (
      SELECT t.id, CASE
        WHEN t.close_by <= now THEN 'close'
        WHEN t.token IS NULL THEN 'start'
        WHEN t.claimed_at + t.timeout_ms <= now THEN 'attempt'
        ELSE 'lost'
      END AS reason
      FROM ${s}.task t WHERE t.expires_at <= now ORDER BY t.expires_at LIMIT most
    ) e;
    IF ids IS NOT NULL THEN
      instances := ARRAY(
        SELECT e.of_instance FROM ${functions.endTasks}(ids, array_fill(NULL::text, ARRAY[cardinality(ids)]), endings, array_fill(true, ARRAY[cardinality(ids)]), now, now) e
      );
    END IF;
    SELECT t.expires_at INTO next_at FROM ${s}.task t WHERE t.expires_at IS NOT NULL ORDER BY t.expires_at LIMIT 1;
  END $$`,
  )
}
