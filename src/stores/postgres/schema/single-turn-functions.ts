import { byIndex } from "./function-planner-settings.ts"

const turn = `of_id text, of_incarnation text, of_turn text, of_position bigint, of_count integer, of_run bigint, of_at bigint, of_entries text`
/** A turn of an instance that exists: it names the turn that it follows. */
const laterTurn = `${turn}, of_follows text`
const state = `new_status text, new_phase text, new_due_at bigint, new_owner text, new_run bigint, new_run_position bigint, new_end_position bigint`
const newState = `status = new_status, phase = new_phase, due_at = new_due_at, owner = new_owner, run = new_run, run_position = new_run_position,
        end_position = new_end_position, updated_at = of_at, crashed = false`

/**
 * A turn that goes alone, of the kinds that nearly all are. Each does what `write_turns` does for it, with scalars in place of arrays: most of
 * what a statement over arrays costs is spent before its first row. False: nothing was written, and `write_turns` says what it comes to.
 */
export function singleTurnFunctions(s: string): readonly string[] {
  const ended = `('completed', 'failed', 'cancelled', 'terminated')`
  const { journal, row, isNext } = parts(s)
  return [
    `CREATE OR REPLACE FUNCTION ${s}.append_lone(${laterTurn}) RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
    BEGIN
      INSERT INTO ${journal}
      SELECT ${row("i.key")} FROM ${s}.instance i
      WHERE i.id = of_id AND i.incarnation = of_incarnation AND i.status NOT IN ${ended} AND i.limits IS NULL AND ${isNext("i.key")}
      ON CONFLICT DO NOTHING;
      RETURN FOUND;
    END $$`,
    // Without mail there is nothing in the inbox to be taken out, or to be seen first; under the lock of the row it stays so.
    `CREATE OR REPLACE FUNCTION ${s}.change_lone(${laterTurn}, ${state}) RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      found_key bigint;
    BEGIN
      SELECT i.key INTO found_key FROM ${s}.instance i
      WHERE i.id = of_id AND i.incarnation = of_incarnation AND i.limits IS NULL AND i.uniques IS NULL AND i.mail_at IS NULL FOR NO KEY UPDATE;
      IF NOT FOUND THEN RETURN false; END IF;
      INSERT INTO ${journal} SELECT ${row("found_key")} WHERE ${isNext("found_key")} ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN RETURN false; END IF;
      UPDATE ${s}.instance i SET
        ${newState}
      WHERE i.id = of_id;
      RETURN true;
    END $$`,
    createLoneFunction(s),
  ]
}

/** `isDeclared`: of an instance that declares its events. */
export function createLoneFunction(s: string, isDeclared = false): string {
  const { journal, row } = parts(s)
  return `CREATE OR REPLACE FUNCTION ${s}.${isDeclared ? "create_declared_lone" : "create_lone"}(
      ${turn}, ${state}, of_workflow text, of_version text, of_created_at bigint, of_queue text${isDeclared ? ", of_events text" : ""}
    )
    RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      new_key bigint;
    BEGIN
      INSERT INTO ${s}.instance AS i (
        id, incarnation, workflow, version, created_at, updated_at, status, phase, due_at, owner, run, run_position, end_position, queue${isDeclared ? ", events" : ""}
      ) VALUES (
        of_id, of_incarnation, of_workflow, of_version, of_created_at, of_at,
        new_status, new_phase, new_due_at, new_owner, new_run, new_run_position, new_end_position, of_queue${isDeclared ? ", of_events" : ""}
      ) ON CONFLICT (id) DO NOTHING RETURNING i.key INTO new_key;
      IF new_key IS NULL THEN RETURN false; END IF;
      INSERT INTO ${journal} VALUES (${row("new_key")});
      RETURN true;
    END $$`
}

/**
 * One that takes messages out of the inbox, with the state that the instance then has. What is unread is dropped, or stays. Who heard a message with the
 * notification of it has not seen whether it is still there.
 */
export function takeLoneFunction(s: string): string {
  const { journal, row, isNext } = parts(s)
  const firstOf = (which: string) => `(SELECT least(m.at, ${s}.now_ms()) FROM ${s}.inbox m WHERE m.instance = found_key${which} ORDER BY m.seq LIMIT 1)`
  return `CREATE OR REPLACE FUNCTION ${s}.take_lone(${laterTurn}, ${state}, consumed bigint[], seen bigint, discards boolean)
    RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      found_key bigint;
      is_left boolean := false;
    BEGIN
      SELECT i.key INTO found_key FROM ${s}.instance i
      WHERE i.id = of_id AND i.incarnation = of_incarnation AND i.limits IS NULL AND i.uniques IS NULL FOR NO KEY UPDATE;
      IF NOT FOUND THEN RETURN false; END IF;
      -- In one statement: where all is cold, each costs as much as what it does.
      INSERT INTO ${journal} SELECT ${row("found_key")} WHERE ${isNext("found_key")}
        AND (SELECT count(*) FROM ${s}.inbox m WHERE m.instance = found_key AND m.seq = ANY (consumed)) = cardinality(consumed)
        AND (seen IS NULL OR NOT EXISTS (SELECT 1 FROM ${s}.inbox m WHERE m.instance = found_key AND m.seq > seen))
      ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN RETURN false; END IF;
      IF discards THEN
        DELETE FROM ${s}.inbox m WHERE m.instance = found_key;
      ELSE
        DELETE FROM ${s}.inbox m WHERE m.instance = found_key AND m.seq = ANY (consumed);
        is_left := EXISTS (SELECT 1 FROM ${s}.inbox m WHERE m.instance = found_key);
      END IF;
      UPDATE ${s}.instance i SET
        ${newState},
        mail_at = CASE WHEN is_left THEN ${firstOf("")} END,
        control_at = CASE WHEN is_left AND i.control_at IS NOT NULL THEN ${firstOf(" AND m.kind IN ('pause', 'resume', 'cancel', 'terminate')")} END
      WHERE i.id = of_id;
      RETURN true;
    END $$`
}

function parts(s: string) {
  return {
    journal: `${s}.journal (instance, position, count, run, at, seq, turn, entries)`,
    row: (key: string) => `${key}, of_position, of_count, of_run, of_at, nextval('${s}.journal_seq') + 1, of_turn, of_entries`,
    isNext: (key: string) =>
      `(SELECT j.position + j.count = of_position AND j.turn = of_follows FROM ${s}.journal j WHERE j.instance = ${key} ORDER BY j.position DESC LIMIT 1)`,
  }
}
