import type { DefineFunction, Functions } from "./function-definitions.ts"

const ended = `('completed', 'failed', 'cancelled', 'terminated')`

type Called = Functions<"updateMailTimes">

/**
 * Functions that write turns one by one: turns of rare kinds, and turns that a batch could not write together (batch-functions.ts). All effects of a turn
 * depend on the insertion of its journal row. What a turn has beyond that row comes as JSON:
 *
 *   workflow and the other columns of a new instance's row, if the turn creates an instance
 *   status and the other columns of the state, if the row changes
 *   within  {instance, incarnation, run}: the turn is lost unless that run is under way
 *   consumed, inboxSeen, discardInbox, ifQueued, sends, blobs, tags, memo: as in the port
 */
export function turnFunctions(s: string, defineFunction: DefineFunction, functions: Called) {
  const isTurnRecorded = defineFunction(
    "is_turn_recorded",
    `(of_id text, of_incarnation text, of_position bigint, of_turn text) RETURNS boolean LANGUAGE sql STABLE AS $$
      SELECT EXISTS (
        SELECT 1 FROM ${s}.instance i JOIN ${s}.journal j ON j.instance = i.key
        WHERE i.id = of_id AND i.incarnation = of_incarnation AND j.position = of_position AND j.turn = of_turn
      )
    $$`,
  )
  const acquireUniqueKeys = defineAcquireUniqueKeys(s, defineFunction)
  const createInstance = defineCreateInstance(s, defineFunction)
  const annotate = defineAnnotate(s, defineFunction)
  const releaseDebounceKeys = defineFunction(
    "release_debounce_keys",
    `(uniques text, of_key bigint) RETURNS void LANGUAGE sql AS $$
      DELETE FROM ${s}.unique_key k USING jsonb_array_elements(uniques::jsonb) u
      WHERE u->>'kind' = 'debounce' AND k.kind = 'debounce' AND k.key = u->>'key' AND k.instance = of_key
    $$`,
  )
  return {
    isTurnRecorded,
    acquireUniqueKeys,
    releaseDebounceKeys,
    writeTurn: defineWriteTurn(s, defineFunction, { ...functions, isTurnRecorded, acquireUniqueKeys, releaseDebounceKeys, createInstance, annotate }),
  }
}

/** Writes tags and memo. */
function defineAnnotate(s: string, defineFunction: DefineFunction): string {
  return defineFunction(
    "annotate",
    `(of_key bigint, x jsonb, of_at bigint) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      created bigint;
      before text;
    BEGIN
      UPDATE ${s}.instance i SET updated_at = of_at, memo = CASE WHEN x ? 'memo' THEN x->>'memo' ELSE i.memo END WHERE i.key = of_key
      RETURNING i.created_at, i.tags INTO created, before;
      IF x ? 'tags' THEN
        DELETE FROM ${s}.tag t
        WHERE t.tag = ANY (ARRAY(SELECT jsonb_array_elements_text(before::jsonb))) AND t.created_at = created AND t.instance = of_key;
        INSERT INTO ${s}.tag (tag, created_at, instance) SELECT g, created, of_key FROM jsonb_array_elements_text(x->'tags') g ON CONFLICT DO NOTHING;
        UPDATE ${s}.instance i SET tags = CASE WHEN jsonb_array_length(x->'tags') = 0 THEN NULL ELSE (x->'tags')::text END WHERE i.key = of_key;
      END IF;
    END $$`,
  )
}

/** Answers false if an instance with that id exists. */
function defineCreateInstance(s: string, defineFunction: DefineFunction): string {
  return defineFunction(
    "create_instance",
    `(new_key bigint, of_id text, of_incarnation text, turn_at bigint, c jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO ${s}.instance (
        key, id, incarnation, workflow, version, created_at, updated_at, tags,
        status, phase, due_at, owner, run, run_position, end_position, priority, limits, uniques, lane, deadline_at, queue, memo, events
      ) VALUES (
        new_key, of_id, of_incarnation, c->>'workflow', c->>'version', (c->>'createdAt')::bigint, turn_at, c->>'tags',
        c->>'status', c->>'phase', (c->>'dueAt')::bigint, c->>'owner', (c->>'run')::bigint, (c->>'runPosition')::bigint, (c->>'endPosition')::bigint,
        coalesce((c->>'priority')::bigint, 0), c->>'limits', c->>'uniques', c->>'lane',
        CASE WHEN c ? 'flow' THEN (c->>'deadlineAt')::bigint END, coalesce(c->>'queue', ''), c->>'memo', c->>'events'
      ) ON CONFLICT (id) DO NOTHING;
      IF NOT FOUND THEN RETURN false; END IF;
      IF c ? 'tagList' THEN
        INSERT INTO ${s}.tag (tag, created_at, instance)
        SELECT t, (c->>'createdAt')::bigint, new_key FROM jsonb_array_elements_text(c->'tagList') t ON CONFLICT DO NOTHING;
      END IF;
      RETURN true;
    END $$`,
  )
}

type TurnCalled = Called & Functions<"isTurnRecorded" | "acquireUniqueKeys" | "releaseDebounceKeys"> & Functions<"createInstance" | "annotate">

/**
 * Answers 'written', 'recorded' (the turn was written before, and was sent again), 'lost', or 'flow': the turn must be written under the locks of flow control.
 * A running instance keeps its slots, so a turn that begins or continues a run needs no locks. A cancelled instance may move forward in its queue.
 */
function defineWriteTurn(s: string, defineFunction: DefineFunction, functions: TurnCalled): string {
  return defineFunction(
    "write_turn",
    `(
    of_id text, of_incarnation text, of_turn text, of_follows text, of_position bigint, of_count integer, of_run bigint, of_at bigint, of_entries text, of_by text,
    x jsonb, new_key bigint, new_seq bigint, with_flow boolean, now bigint
  ) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    it record;
    has_state boolean := x ? 'status';
    uniques jsonb;
    may_write boolean := true;
  BEGIN
    IF x ? 'workflow' THEN
      -- There is no key if the batch could not create the instance.
      may_write := new_key IS NOT NULL;
      IF may_write AND x ? 'within' AND NOT EXISTS (
        SELECT 1 FROM ${s}.instance i WHERE i.id = x->'within'->>'instance' AND i.incarnation = x->'within'->>'incarnation'
          AND i.run = (x->'within'->>'run')::bigint AND i.status NOT IN ${ended}
      ) THEN may_write := false; END IF;
      IF may_write AND x ? 'uniques' THEN
        uniques := (x->>'uniques')::jsonb;
        IF EXISTS (SELECT 1 FROM ${s}.instance i WHERE i.id = of_id) THEN
          may_write := false;
        ELSE
          BEGIN
            may_write := ${functions.createInstance}(new_key, of_id, of_incarnation, of_at, x);
            IF may_write AND NOT ${functions.acquireUniqueKeys}(uniques, new_key) THEN RAISE EXCEPTION 'taken' USING ERRCODE = 'PD001'; END IF;
          EXCEPTION WHEN SQLSTATE 'PD001' THEN
            RETURN 'lost';
          END;
        END IF;
      ELSIF may_write THEN
        may_write := ${functions.createInstance}(new_key, of_id, of_incarnation, of_at, x);
      END IF;
      IF NOT may_write THEN
        RETURN CASE WHEN ${functions.isTurnRecorded}(of_id, of_incarnation, of_position, of_turn) THEN 'recorded' ELSE 'lost' END;
      END IF;
      INSERT INTO ${s}.journal (instance, position, count, run, at, seq, turn, entries, blobs)
      VALUES (new_key, of_position, of_count, of_run, of_at, new_seq, of_turn, of_entries,
        CASE WHEN x ? 'blobs' THEN ARRAY(SELECT b FROM jsonb_array_elements_text(x->'blobs') WITH ORDINALITY AS given (b, n) ORDER BY n) END);
    ELSE
      SELECT i.key, i.status, i.owner, i.limits IS NOT NULL AS has_limits, i.uniques INTO it
      FROM ${s}.instance i WHERE i.id = of_id AND i.incarnation = of_incarnation FOR NO KEY UPDATE;
      IF NOT FOUND THEN RETURN 'lost'; END IF;
      IF it.has_limits AND has_state AND NOT with_flow AND NOT (x->>'status' = 'running' AND x->>'phase' IS DISTINCT FROM 'cancelling') THEN RETURN 'flow'; END IF;
      may_write := coalesce(
          (SELECT j.position + j.count = of_position AND j.turn = of_follows FROM ${s}.journal j WHERE j.instance = it.key ORDER BY j.position DESC LIMIT 1),
          false
        )
        AND (NOT it.has_limits OR of_by IS NULL OR it.owner IS NOT DISTINCT FROM of_by)
        AND (NOT x ? 'ifQueued' OR (it.status = 'queued' AND it.owner IS NULL))
        AND (NOT x ? 'inboxSeen' OR NOT EXISTS (SELECT 1 FROM ${s}.inbox m WHERE m.instance = it.key AND m.seq > (x->>'inboxSeen')::bigint));
      IF may_write AND it.uniques IS NOT NULL AND has_state AND it.status IN ${ended} AND x->>'status' NOT IN ${ended} THEN
        -- A restarted instance needs the singleton keys that it released when it ended.
        SELECT jsonb_agg(u) INTO uniques FROM jsonb_array_elements(it.uniques::jsonb) u WHERE u->>'kind' = 'singleton';
        IF uniques IS NOT NULL THEN
          BEGIN
            IF NOT ${functions.acquireUniqueKeys}(uniques, it.key) THEN RAISE EXCEPTION 'taken' USING ERRCODE = 'PD001'; END IF;
          EXCEPTION WHEN SQLSTATE 'PD001' THEN
            may_write := false;
          END;
        END IF;
      END IF;
      IF may_write THEN
        INSERT INTO ${s}.journal (instance, position, count, run, at, seq, turn, entries, blobs)
        VALUES (it.key, of_position, of_count, of_run, of_at, new_seq, of_turn, of_entries,
          CASE WHEN x ? 'blobs' THEN ARRAY(SELECT b FROM jsonb_array_elements_text(x->'blobs') WITH ORDINALITY AS given (b, n) ORDER BY n) END)
        ON CONFLICT DO NOTHING;
        may_write := FOUND;
      END IF;
      IF NOT may_write THEN
        RETURN CASE WHEN ${functions.isTurnRecorded}(of_id, of_incarnation, of_position, of_turn) THEN 'recorded' ELSE 'lost' END;
      END IF;
      IF x ? 'consumed' THEN
        DELETE FROM ${s}.inbox m WHERE m.instance = it.key AND m.seq IN (SELECT c::bigint FROM jsonb_array_elements_text(x->'consumed') c);
      END IF;
      IF x ? 'discardInbox' THEN
        DELETE FROM ${s}.inbox m WHERE m.instance = it.key;
      END IF;
      IF x ? 'consumed' OR x ? 'discardInbox' THEN
        PERFORM ${functions.updateMailTimes}(it.key, now);
      END IF;
      IF x ? 'tags' OR x ? 'memo' THEN
        PERFORM ${functions.annotate}(it.key, x, of_at);
      END IF;
      IF has_state THEN
        UPDATE ${s}.instance i SET
          status = x->>'status', phase = x->>'phase', due_at = (x->>'dueAt')::bigint, owner = x->>'owner', run = (x->>'run')::bigint,
          run_position = (x->>'runPosition')::bigint, end_position = (x->>'endPosition')::bigint, updated_at = of_at, crashed = false,
          deadline_at = CASE WHEN it.has_limits THEN (x->>'deadlineAt')::bigint ELSE i.deadline_at END
        WHERE i.key = it.key;
        IF it.uniques IS NOT NULL AND x->>'status' IN ${ended} THEN
          DELETE FROM ${s}.unique_key k USING jsonb_array_elements(it.uniques::jsonb) u
          WHERE k.kind = u->>'kind' AND k.key = u->>'key' AND k.instance = it.key;
        ELSIF it.uniques IS NOT NULL AND x->>'status' <> 'queued' AND it.status NOT IN ${ended} THEN
          PERFORM ${functions.releaseDebounceKeys}(it.uniques, it.key);
        END IF;
      END IF;
    END IF;
    RETURN 'written';
  END $$`,
  )
}

/** Waits for an open transaction that has taken one of the keys. False: another instance holds a key, and the caller rolls back the keys that were taken. */
function defineAcquireUniqueKeys(s: string, defineFunction: DefineFunction): string {
  return defineFunction(
    "acquire_unique_keys",
    `(uniques jsonb, of_key bigint) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    -- A key that prevented the insertion may be released before the next statement sees it. Then no instance holds the key, and the loop tries again.
    FOR attempt IN 1..100 LOOP
      INSERT INTO ${s}.unique_key (kind, key, instance)
      SELECT u->>'kind', u->>'key', of_key FROM jsonb_array_elements(uniques) u ORDER BY 1, 2 ON CONFLICT DO NOTHING;
      IF NOT EXISTS (
        SELECT 1 FROM jsonb_array_elements(uniques) u
        WHERE NOT EXISTS (SELECT 1 FROM ${s}.unique_key k WHERE k.kind = u->>'kind' AND k.key = u->>'key' AND k.instance = of_key)
      ) THEN RETURN true; END IF;
      IF EXISTS (
        SELECT 1 FROM jsonb_array_elements(uniques) u JOIN ${s}.unique_key k ON k.kind = u->>'kind' AND k.key = u->>'key' WHERE k.instance <> of_key
      ) THEN RETURN false; END IF;
    END LOOP;
    RETURN false;
  END $$`,
  )
}
