/**
 * Turns. All effects of a turn hang on its journal row being inserted. What a turn has beyond that row comes as JSON:
 *
 *   create  the new instance's columns; then `state` is given
 *   state   what the row becomes
 *   within  {instance, incarnation, run}: lost unless that run is under way
 *   consumed, inboxSeen, discardInbox, ifQueued, sends, blobs: as in the port
 */
export function turnFunctions(s: string): readonly string[] {
  const ended = `('completed', 'failed', 'cancelled', 'terminated')`
  return [
    `CREATE FUNCTION ${s}.is_recorded(of_id text, of_incarnation text, of_position bigint, of_turn text) RETURNS boolean LANGUAGE sql STABLE AS $$
      SELECT EXISTS (
        SELECT 1 FROM ${s}.instance i JOIN ${s}.journal j ON j.instance = i.key
        WHERE i.id = of_id AND i.incarnation = of_incarnation AND j.position = of_position AND j.turn = of_turn
      )
    $$`,
    // Waits for whoever has one of them in an open transaction. False: somebody else has one; what it took is to be rolled back.
    `CREATE FUNCTION ${s}.take_unique(uniques jsonb, of_key bigint) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO ${s}.unique_key (kind, key, instance)
      SELECT u->>'kind', u->>'key', of_key FROM jsonb_array_elements(uniques) u ORDER BY 1, 2 ON CONFLICT DO NOTHING;
      RETURN NOT EXISTS (
        SELECT 1 FROM jsonb_array_elements(uniques) u JOIN ${s}.unique_key k ON k.kind = u->>'kind' AND k.key = u->>'key' WHERE k.instance <> of_key
      );
    END $$`,
    `CREATE FUNCTION ${s}.create_instance(new_key bigint, turn_at bigint, c jsonb, st jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO ${s}.instance (
        key, id, incarnation, workflow, version, created_at, updated_at, tags,
        status, phase, due_at, owner, run, run_position, end_position, priority, limits, uniques, lane, deadline_at, queue, memo
      ) VALUES (
        new_key, c->>'id', c->>'incarnation', c->>'workflow', c->>'version', (c->>'createdAt')::bigint, turn_at, c->>'tags',
        st->>'status', st->>'phase', (st->>'dueAt')::bigint, st->>'owner', (st->>'run')::bigint, (st->>'runPosition')::bigint, (st->>'endPosition')::bigint,
        coalesce((c->>'priority')::bigint, 0), c->>'limits', c->>'uniques', c->>'lane',
        CASE WHEN c ? 'flow' THEN (st->>'deadlineAt')::bigint END, coalesce(c->>'queue', ''), c->>'memo'
      ) ON CONFLICT (id) DO NOTHING;
      IF NOT FOUND THEN RETURN false; END IF;
      IF c ? 'tagList' THEN
        INSERT INTO ${s}.tag (tag, created_at, instance)
        SELECT t, (c->>'createdAt')::bigint, new_key FROM jsonb_array_elements_text(c->'tagList') t ON CONFLICT DO NOTHING;
      END IF;
      RETURN true;
    END $$`,
    // 'written', 'recorded' (it was sent again), 'lost', or 'flow': only under the locks of flow control.
    `CREATE FUNCTION ${s}.write_turn(
      of_id text, of_incarnation text, of_turn text, of_position bigint, of_count integer, of_run bigint, of_at bigint, of_entries text, of_by text,
      x jsonb, new_key bigint, new_seq bigint, with_flow boolean, now bigint
    ) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      it record;
      st jsonb := x->'state';
      uniques jsonb;
      may_write boolean := true;
    BEGIN
      IF x ? 'create' THEN
        IF x ? 'within' AND NOT EXISTS (
          SELECT 1 FROM ${s}.instance i WHERE i.id = x->'within'->>'instance' AND i.incarnation = x->'within'->>'incarnation'
            AND i.run = (x->'within'->>'run')::bigint AND i.status NOT IN ${ended}
        ) THEN may_write := false; END IF;
        IF may_write AND x->'create' ? 'uniques' THEN
          uniques := (x->'create'->>'uniques')::jsonb;
          IF EXISTS (SELECT 1 FROM ${s}.instance i WHERE i.id = of_id) THEN
            may_write := false;
          ELSE
            BEGIN
              may_write := ${s}.create_instance(new_key, of_at, x->'create', st);
              IF may_write AND NOT ${s}.take_unique(uniques, new_key) THEN RAISE EXCEPTION 'taken' USING ERRCODE = 'PD001'; END IF;
            EXCEPTION WHEN SQLSTATE 'PD001' THEN
              RETURN 'lost';
            END;
          END IF;
        ELSIF may_write THEN
          may_write := ${s}.create_instance(new_key, of_at, x->'create', st);
        END IF;
        IF NOT may_write THEN
          RETURN CASE WHEN ${s}.is_recorded(of_id, of_incarnation, of_position, of_turn) THEN 'recorded' ELSE 'lost' END;
        END IF;
        INSERT INTO ${s}.journal (instance, position, count, run, at, seq, turn, entries, blobs)
        VALUES (new_key, of_position, of_count, of_run, of_at, new_seq, of_turn, of_entries,
          CASE WHEN x ? 'blobs' THEN ARRAY(SELECT b FROM jsonb_array_elements_text(x->'blobs') WITH ORDINALITY AS given (b, n) ORDER BY n) END);
      ELSE
        SELECT i.key, i.status, i.owner, i.limits IS NOT NULL AS has_limits, i.uniques INTO it
        FROM ${s}.instance i WHERE i.id = of_id AND i.incarnation = of_incarnation FOR NO KEY UPDATE;
        IF NOT FOUND THEN RETURN 'lost'; END IF;
        IF it.has_limits AND st IS NOT NULL AND NOT with_flow THEN RETURN 'flow'; END IF;
        may_write := of_position = coalesce((SELECT j.position + j.count FROM ${s}.journal j WHERE j.instance = it.key ORDER BY j.position DESC LIMIT 1), 1)
          AND (NOT it.has_limits OR of_by IS NULL OR it.owner IS NOT DISTINCT FROM of_by)
          AND (NOT x ? 'ifQueued' OR (it.status = 'queued' AND it.owner IS NULL))
          AND (NOT x ? 'inboxSeen' OR NOT EXISTS (SELECT 1 FROM ${s}.inbox m WHERE m.instance = it.key AND m.seq > (x->>'inboxSeen')::bigint));
        IF may_write AND it.uniques IS NOT NULL AND st IS NOT NULL AND it.status IN ${ended} AND st->>'status' NOT IN ${ended} THEN
          -- A restart needs what it gave back.
          SELECT jsonb_agg(u) INTO uniques FROM jsonb_array_elements(it.uniques::jsonb) u WHERE u->>'kind' = 'singleton';
          IF uniques IS NOT NULL THEN
            BEGIN
              IF NOT ${s}.take_unique(uniques, it.key) THEN RAISE EXCEPTION 'taken' USING ERRCODE = 'PD001'; END IF;
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
          RETURN CASE WHEN ${s}.is_recorded(of_id, of_incarnation, of_position, of_turn) THEN 'recorded' ELSE 'lost' END;
        END IF;
        IF x ? 'consumed' THEN
          DELETE FROM ${s}.inbox m WHERE m.instance = it.key AND m.seq IN (SELECT c::bigint FROM jsonb_array_elements_text(x->'consumed') c);
        END IF;
        IF x ? 'discardInbox' THEN
          DELETE FROM ${s}.inbox m WHERE m.instance = it.key;
        END IF;
        IF x ? 'consumed' OR x ? 'discardInbox' THEN
          PERFORM ${s}.remark(it.key, now);
        END IF;
        IF x ? 'tags' OR x ? 'memo' THEN
          PERFORM ${s}.annotate(it.key, x, of_at);
        END IF;
        IF st IS NOT NULL THEN
          UPDATE ${s}.instance i SET
            status = st->>'status', phase = st->>'phase', due_at = (st->>'dueAt')::bigint, owner = st->>'owner', run = (st->>'run')::bigint,
            run_position = (st->>'runPosition')::bigint, end_position = (st->>'endPosition')::bigint, updated_at = of_at, crashed = false,
            deadline_at = CASE WHEN it.has_limits THEN (st->>'deadlineAt')::bigint ELSE i.deadline_at END
          WHERE i.key = it.key;
          IF it.uniques IS NOT NULL AND st->>'status' IN ${ended} THEN
            DELETE FROM ${s}.unique_key k USING jsonb_array_elements(it.uniques::jsonb) u
            WHERE k.kind = u->>'kind' AND k.key = u->>'key' AND k.instance = it.key;
          ELSIF it.uniques IS NOT NULL AND st->>'status' <> 'queued' AND it.status NOT IN ${ended} THEN
            PERFORM ${s}.free_debounce(it.uniques, it.key);
          END IF;
        END IF;
      END IF;
      RETURN 'written';
    END $$`,
    `CREATE FUNCTION ${s}.annotate(of_key bigint, x jsonb, of_at bigint) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      created bigint;
    BEGIN
      UPDATE ${s}.instance i SET updated_at = of_at, memo = CASE WHEN x ? 'memo' THEN x->>'memo' ELSE i.memo END WHERE i.key = of_key
      RETURNING i.created_at INTO created;
      IF x ? 'tags' THEN
        DELETE FROM ${s}.tag t USING ${s}.instance i, jsonb_array_elements_text(i.tags::jsonb) g
        WHERE i.key = of_key AND t.tag = g AND t.created_at = created AND t.instance = of_key;
        INSERT INTO ${s}.tag (tag, created_at, instance) SELECT g, created, of_key FROM jsonb_array_elements_text(x->'tags') g ON CONFLICT DO NOTHING;
        UPDATE ${s}.instance i SET tags = CASE WHEN jsonb_array_length(x->'tags') = 0 THEN NULL ELSE (x->'tags')::text END WHERE i.key = of_key;
      END IF;
    END $$`,
    `CREATE FUNCTION ${s}.free_debounce(uniques text, of_key bigint) RETURNS void LANGUAGE sql AS $$
      DELETE FROM ${s}.unique_key k USING jsonb_array_elements(uniques::jsonb) u
      WHERE u->>'kind' = 'debounce' AND k.kind = 'debounce' AND k.key = u->>'key' AND k.instance = of_key
    $$`,
    // Answers what became of each, in their order. Each instance has one turn here. \`locks\`: ids of all rows that may change, and of those that must not.
    `CREATE FUNCTION ${s}.write_turns(
      ids text[], incarnations text[], turns text[], positions bigint[], counts integer[], runs bigint[], ats bigint[], entries text[], bys text[],
      extras text[], locks text[], with_flow boolean
    ) RETURNS text[] LANGUAGE plpgsql AS $$
    DECLARE
      now bigint;
      outcomes text[] := array_fill(NULL::text, ARRAY[cardinality(ids)]);
      keys bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(ids)]);
      first_seq bigint := nextval('${s}.journal_seq');
      n integer;
      done integer[];
      message jsonb;
    BEGIN
      IF cardinality(locks) > 0 THEN
        PERFORM 1 FROM ${s}.instance i WHERE i.id = ANY (locks) ORDER BY i.id FOR NO KEY UPDATE;
      END IF;
      -- Most turns only append: all of these at once. What may be removed under our hands, or taken away with its slots, goes the long way.
      IF array_position(extras, NULL) IS NOT NULL THEN
        WITH given AS (
          SELECT * FROM unnest(ids, incarnations, turns, positions, counts, runs, ats, entries, bys, extras)
            WITH ORDINALITY AS t (id, incarnation, turn, position, count, run, at, entries, by, extra, n)
          WHERE t.extra IS NULL
        ), inserted AS (
          INSERT INTO ${s}.journal (instance, position, count, run, at, seq, turn, entries)
          SELECT i.key, t.position, t.count, t.run, t.at, first_seq + t.n, t.turn, t.entries
          FROM given t JOIN ${s}.instance i ON i.id = t.id AND i.incarnation = t.incarnation
          WHERE i.status NOT IN ${ended} AND i.limits IS NULL
            AND t.position = (SELECT j.position + j.count FROM ${s}.journal j WHERE j.instance = i.key ORDER BY j.position DESC LIMIT 1)
          ORDER BY i.id
          ON CONFLICT DO NOTHING
          RETURNING turn, position
        )
        SELECT array_agg(t.n) INTO done FROM inserted w JOIN given t ON t.turn = w.turn AND t.position = w.position;
        FOREACH n IN ARRAY coalesce(done, '{}') LOOP
          outcomes[n] := 'written';
        END LOOP;
        IF cardinality(done) = cardinality(ids) THEN RETURN outcomes; END IF;
      END IF;
      now := ${s}.now_ms();
      -- Keys are given in the order in which they came, as rows are listed and claimed in that order; rows are written in the order of ids.
      FOR n IN 1 .. cardinality(ids) LOOP
        IF extras[n] LIKE '{"create"%' THEN keys[n] := nextval('${s}.instance_key'); END IF;
      END LOOP;
      FOR n IN SELECT t.n FROM unnest(ids, outcomes) WITH ORDINALITY AS t (id, outcome, n) WHERE t.outcome IS NULL ORDER BY t.id LOOP
        outcomes[n] := ${s}.write_turn(
          ids[n], incarnations[n], turns[n], positions[n], counts[n], runs[n], ats[n], entries[n], bys[n],
          coalesce(extras[n], '{}')::jsonb, keys[n], first_seq + n, with_flow, now
        );
      END LOOP;
      -- In the order of the turns, and so in that of their acknowledgement.
      FOR n IN 1 .. cardinality(ids) LOOP
        IF outcomes[n] = 'written' AND extras[n]::jsonb ? 'sends' THEN
          FOR message IN SELECT m FROM jsonb_array_elements(extras[n]::jsonb->'sends') WITH ORDINALITY AS given (m, at) ORDER BY given.at LOOP
            PERFORM ${s}.deliver_one(message, now);
          END LOOP;
        END IF;
      END LOOP;
      RETURN outcomes;
    END $$`,
  ]
}
