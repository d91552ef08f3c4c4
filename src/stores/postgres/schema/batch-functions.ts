import type { DefineFunction, Functions } from "./function-definitions.ts"
import { byHash, byIndex } from "./function-planner-settings.ts"

const ended = `('completed', 'failed', 'cancelled', 'terminated')`
const state = `status text, phase text, "dueAt" bigint, owner text, run bigint, "runPosition" bigint, "endPosition" bigint`

type Called = Functions<"nowMs" | "deliverMessage" | "writeTurn" | "writeTasks">

/**
 * Functions that write batches of turns. A few statements over arrays write what most turns have, for the whole batch at once; a statement that the batch does
 * not need is not executed. Turns of rare kinds, and turns that the rows do not allow, go one by one through `write_turn`.
 *
 * `kinds`: null only appends to the journal; `c` creates an instance; `s` changes the row or the inbox; `x` goes one by one.
 * `extras`: what a turn has beyond its journal row, as in turn-functions.ts; an empty array if no turn has any.
 * `marks`: letters for the contents of the batch: c, s and x as above; i: turns consume messages; m: turns send messages; t: turns set tags; k: turns write
 * or end tasks.
 */
export function batchFunctions(s: string, defineFunction: DefineFunction, functions: Called) {
  const parts = {
    ...functions,
    createInstances: defineCreateInstances(s, defineFunction),
    consumeMessages: defineConsumeMessages(s, defineFunction),
    updateInstances: defineUpdateInstances(s, defineFunction),
    // Messages are delivered in the order of the turns, and so in the order in which the turns are acknowledged.
    deliverFromTurns: defineFunction(
      "deliver_from_turns",
      `(extras json[], outcomes text[], now bigint) RETURNS void LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      message jsonb;
    BEGIN
      FOR message IN
        SELECT m::jsonb FROM unnest(extras, outcomes) WITH ORDINALITY AS t (extra, outcome, n)
        CROSS JOIN LATERAL json_array_elements(t.extra->'sends') WITH ORDINALITY AS given (m, at)
        WHERE t.extra IS NOT NULL AND (outcomes IS NULL OR t.outcome = 'written') ORDER BY t.n, given.at
      LOOP
        PERFORM ${functions.deliverMessage}(message, now);
      END LOOP;
    END $$`,
    ),
  }
  return { writeTurns: defineWriteTurns(s, defineFunction, parts, false), writeFreshTurns: defineWriteTurns(s, defineFunction, parts, true) }
}

/** Creates the rows of new instances. */
function defineCreateInstances(s: string, defineFunction: DefineFunction): string {
  return defineFunction(
    "create_instances",
    `(ids text[], incarnations text[], ats bigint[], kinds text[], extras json[]) RETURNS void
    LANGUAGE plpgsql ${byIndex} AS $$
    BEGIN
      INSERT INTO ${s}.instance (
        key, id, incarnation, workflow, version, created_at, updated_at, tags,
        status, phase, due_at, owner, run, run_position, end_position, priority, limits, lane, deadline_at, queue, memo, events
      )
      SELECT b.key, b.id, b.incarnation, b.workflow, b.version, b."createdAt", b.at, b.tags,
        b.status, b.phase, b."dueAt", b.owner, b.run, b."runPosition", b."endPosition", coalesce(b.priority, 0), b.limits, b.lane,
        CASE WHEN b.flow THEN b."deadlineAt" END, coalesce(b.queue, ''), b.memo, b.events
      FROM (
        -- Keys follow the order of the batch, because rows are listed and claimed in the order of keys. Rows are written in the order of ids.
        SELECT nextval('${s}.instance_key') AS key, t.id, t.incarnation, t.at, x.*
        FROM unnest(ids, incarnations, ats, kinds, extras) AS t (id, incarnation, at, kind, extra)
        CROSS JOIN LATERAL json_to_record(t.extra) AS x (
          workflow text, version text, "createdAt" bigint, tags text, ${state},
          flow boolean, priority bigint, limits text, lane text, "deadlineAt" bigint, queue text, memo text, within json, events text
        )
        WHERE t.kind = 'c' OFFSET 0
      ) b
      WHERE b.within IS NULL OR EXISTS (
        SELECT 1 FROM ${s}.instance p WHERE p.id = b.within->>'instance' AND p.incarnation = b.within->>'incarnation'
          AND p.run = (b.within->>'run')::bigint AND p.status NOT IN ${ended}
      )
      ORDER BY b.id ON CONFLICT (id) DO NOTHING;
    END $$`,
  )
}

type BatchCalled = Called & Functions<"createInstances" | "consumeMessages" | "updateInstances" | "deliverFromTurns">

/**
 * Answers null if all turns were written, else the outcome of each turn. A batch has one turn of each instance. `locks`: ids of all rows that may change, and
 * of rows that must not change meanwhile.
 *
 * `write_fresh_turns` does the same, but fails if another transaction takes a position between the look-up and the insertion. ON CONFLICT would cost PostgreSQL
 * a further look-up and a further record for every row. After the failure, `write_turns` finds out the outcomes.
 */
function defineWriteTurns(s: string, defineFunction: DefineFunction, functions: BatchCalled, isFresh: boolean): string {
  return defineFunction(
    isFresh ? "write_fresh_turns" : "write_turns",
    `(
    ids text[], incarnations text[], turns text[], follows text[], positions bigint[], counts integer[], runs bigint[], ats bigint[], entries text[], bys text[],
    kinds text[], seen bigint[], extras json[], marks text, locks text[], with_flow boolean
  ) RETURNS text[] LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    size integer := cardinality(ids);
    first_seq bigint := nextval('${s}.journal_seq');
    now bigint;
    has_mail boolean := false;
    done integer[];
    done_keys bigint[];
    -- The key of each instance whose turn is written; else 0.
    keys bigint[];
    outcomes text[];
    new_keys bigint[];
    n integer;
  BEGIN
    IF cardinality(locks) > 0 THEN
      SELECT coalesce(bool_or(l.mail_at IS NOT NULL), false) INTO has_mail
      FROM (SELECT i.mail_at FROM ${s}.instance i WHERE i.id = ANY (locks) ORDER BY i.id FOR NO KEY UPDATE) l;
    END IF;
    IF strpos(marks, 'c') > 0 THEN
      PERFORM ${functions.createInstances}(ids, incarnations, ats, kinds, extras);
    END IF;
    -- Turns of instances that another transaction may remove, or whose slots it may take, are left for write_turn.
    WITH inserted AS (
      INSERT INTO ${s}.journal (instance, position, count, run, at, seq, turn, entries)
      SELECT i.key, t.position, t.count, t.run, t.at, first_seq + t.n, t.turn, t.entries
      FROM unnest(ids, incarnations, turns, follows, positions, counts, runs, ats, entries, kinds, seen)
        WITH ORDINALITY AS t (id, incarnation, turn, follows, position, count, run, at, entries, kind, seen, n)
      CROSS JOIN LATERAL (
        SELECT n.key, n.id, n.status, n.limits, n.uniques FROM ${s}.instance n WHERE n.id = t.id AND n.incarnation = t.incarnation OFFSET 0
      ) i
      WHERE CASE
          WHEN t.kind IS NULL THEN i.status NOT IN ${ended} AND i.limits IS NULL
          WHEN t.kind = 's' THEN i.limits IS NULL AND i.uniques IS NULL
            AND (t.seen IS NULL OR NOT EXISTS (SELECT 1 FROM ${s}.inbox m WHERE m.instance = i.key AND m.seq > t.seen))
          ELSE t.kind = 'c'
        END
        AND coalesce(
          (SELECT j.position + j.count = t.position AND j.turn = t.follows FROM ${s}.journal j WHERE j.instance = i.key ORDER BY j.position DESC LIMIT 1),
          t.kind = 'c' AND t.position = 1
        )
      ORDER BY i.id
      ${isFresh ? "" : "ON CONFLICT DO NOTHING"}
      RETURNING seq, instance
    )
    SELECT array_agg(w.seq - first_seq), array_agg(w.instance) INTO done, done_keys FROM inserted w;
    IF marks = '' AND cardinality(done) = size THEN RETURN NULL; END IF;
    keys := array_fill(0::bigint, ARRAY[size]);
    FOR n IN 1 .. coalesce(cardinality(done), 0) LOOP
      keys[done[n]] := done_keys[n];
    END LOOP;
    now := ${functions.nowMs}();
    IF has_mail AND strpos(marks, 'i') > 0 THEN
      PERFORM ${functions.consumeMessages}(keys, kinds, extras);
    END IF;
    IF strpos(marks, 's') > 0 THEN
      PERFORM ${functions.updateInstances}(ids, keys, ats, kinds, extras, now);
    END IF;
    IF strpos(marks, 't') > 0 THEN
      INSERT INTO ${s}.tag (tag, created_at, instance)
      SELECT g, x."createdAt", t.key
      FROM unnest(keys, kinds, extras) AS t (key, kind, extra)
      CROSS JOIN LATERAL json_to_record(t.extra) AS x ("createdAt" bigint, "tagList" json) CROSS JOIN LATERAL json_array_elements_text(x."tagList") g
      WHERE t.kind = 'c' AND t.key > 0 AND x."tagList" IS NOT NULL ON CONFLICT DO NOTHING;
    END IF;
    IF coalesce(cardinality(done), 0) < size THEN
      outcomes := ARRAY(SELECT CASE WHEN k > 0 THEN 'written' END FROM unnest(keys) WITH ORDINALITY AS given (k, n) ORDER BY given.n);
      new_keys := array_fill(NULL::bigint, ARRAY[size]);
      FOR n IN 1 .. size LOOP
        IF kinds[n] = 'x' AND extras[n]->'workflow' IS NOT NULL THEN new_keys[n] := nextval('${s}.instance_key'); END IF;
      END LOOP;
      FOR n IN SELECT t.n FROM unnest(ids, outcomes) WITH ORDINALITY AS t (id, outcome, n) WHERE t.outcome IS NULL ORDER BY t.id LOOP
        outcomes[n] := ${functions.writeTurn}(
          ids[n], incarnations[n], turns[n], follows[n], positions[n], counts[n], runs[n], ats[n], entries[n], bys[n],
          coalesce(extras[n], '{}')::jsonb, new_keys[n], first_seq + n, with_flow, now
        );
      END LOOP;
    END IF;
    IF strpos(marks, 'k') > 0 THEN
      PERFORM ${functions.writeTasks}(ids, incarnations, ats, extras, outcomes);
    END IF;
    IF strpos(marks, 'm') > 0 THEN
      PERFORM ${functions.deliverFromTurns}(extras, outcomes, now);
    END IF;
    RETURN outcomes;
  END $$`,
  )
}

/** Removes the messages that the written turns have consumed. `lowest` and `highest` bound the part of a long inbox that is read. */
function defineConsumeMessages(s: string, defineFunction: DefineFunction): string {
  const given = (columns: string) => `FROM unnest(keys, kinds, extras) AS t (key, kind, extra)
      CROSS JOIN LATERAL json_to_record(t.extra) AS x (${columns})`
  return defineFunction(
    "consume_messages",
    `(keys bigint[], kinds text[], extras json[]) RETURNS void LANGUAGE plpgsql ${byHash} AS $$
  DECLARE
    of_keys bigint[];
    seqs bigint[];
    lowest bigint;
    highest bigint;
    discarding bigint[];
  BEGIN
    SELECT array_agg(t.key), array_agg(c.seq), min(c.seq), max(c.seq) INTO of_keys, seqs, lowest, highest
    ${given(`consumed bigint[]`)} CROSS JOIN LATERAL unnest(x.consumed) AS c (seq) WHERE t.kind = 's' AND t.key > 0;
    IF of_keys IS NOT NULL THEN
      DELETE FROM ${s}.inbox m USING unnest(of_keys, seqs) AS x (key, seq)
      WHERE m.instance = ANY (keys) AND m.seq >= lowest AND m.seq <= highest AND m.instance = x.key AND m.seq = x.seq;
    END IF;
    SELECT array_agg(t.key) INTO discarding ${given(`"discardInbox" boolean`)} WHERE t.kind = 's' AND t.key > 0 AND x."discardInbox";
    IF discarding IS NOT NULL THEN
      DELETE FROM ${s}.inbox m WHERE m.instance = ANY (discarding);
    END IF;
  END $$`,
  )
}

/** Changes the rows of instances whose written turns have another state. */
function defineUpdateInstances(s: string, defineFunction: DefineFunction): string {
  return defineFunction(
    "update_instances",
    `(ids text[], keys bigint[], ats bigint[], kinds text[], extras json[], now bigint) RETURNS void
  LANGUAGE plpgsql ${byHash} AS $$
  BEGIN
    WITH given AS MATERIALIZED (
      SELECT t.id, t.at, x.* FROM unnest(ids, keys, ats, kinds, extras) AS t (id, key, at, kind, extra)
      CROSS JOIN LATERAL json_to_record(t.extra) AS x (${state})
      WHERE t.kind = 's' AND t.key > 0
    )
    UPDATE ${s}.instance i SET
      status = coalesce(x.status, i.status),
      phase = CASE WHEN x.status IS NULL THEN i.phase ELSE x.phase END,
      due_at = CASE WHEN x.status IS NULL THEN i.due_at ELSE x."dueAt" END,
      owner = CASE WHEN x.status IS NULL THEN i.owner ELSE x.owner END,
      run = coalesce(x.run, i.run),
      run_position = coalesce(x."runPosition", i.run_position),
      end_position = CASE WHEN x.status IS NULL THEN i.end_position ELSE x."endPosition" END,
      updated_at = CASE WHEN x.status IS NULL THEN i.updated_at ELSE x.at END,
      crashed = i.crashed AND x.status IS NULL,
      mail_at = CASE WHEN i.mail_at IS NOT NULL THEN (SELECT least(m.at, now) FROM ${s}.inbox m WHERE m.instance = i.key ORDER BY m.seq LIMIT 1) END,
      control_at = CASE WHEN i.control_at IS NOT NULL THEN (
        SELECT least(m.at, now) FROM ${s}.inbox m
        WHERE m.instance = i.key AND m.kind IN ('pause', 'resume', 'cancel', 'terminate') ORDER BY m.seq LIMIT 1
      ) END
    FROM given x
    WHERE i.id = ANY (ids) AND i.id = x.id AND (x.status IS NOT NULL OR i.mail_at IS NOT NULL);
  END $$`,
  )
}
