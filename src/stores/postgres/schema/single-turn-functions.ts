import type { DefineFunction, Functions } from "./function-definitions.ts"
import { byIndex } from "./function-planner-settings.ts"

const ended = `('completed', 'failed', 'cancelled', 'terminated')`
const turn = `of_id text, of_incarnation text, of_turn text, of_position bigint, of_count integer, of_run bigint, of_at bigint, of_entries text`
/** A turn of an instance that exists names the turn that it follows. */
const laterTurn = `${turn}, of_follows text`
const state = `new_status text, new_phase text, new_due_at bigint, new_owner text, new_run bigint, new_run_position bigint, new_end_position bigint`
const newState = `status = new_status, phase = new_phase, due_at = new_due_at, owner = new_owner, run = new_run, run_position = new_run_position,
        end_position = new_end_position, updated_at = of_at, crashed = false`

/**
 * Functions that write one turn of a common kind. Each does what `write_turns` does for that kind, with scalars instead of arrays: a statement over arrays has
 * spent most of its time before its first row. A function that answers false has written nothing; `write_turns` then finds out the outcome.
 */
export function singleTurnFunctions(s: string, defineFunction: DefineFunction, functions: Functions<"nowMs">) {
  const journal = `${s}.journal (instance, position, count, run, at, seq, turn, entries)`
  const row = (key: string) => `${key}, of_position, of_count, of_run, of_at, nextval('${s}.journal_seq') + 1, of_turn, of_entries`
  const isNext = (key: string) =>
    `(SELECT j.position + j.count = of_position AND j.turn = of_follows FROM ${s}.journal j WHERE j.instance = ${key} ORDER BY j.position DESC LIMIT 1)`
  const firstOf = (which: string) => `(SELECT least(m.at, ${functions.nowMs}()) FROM ${s}.inbox m WHERE m.instance = found_key${which} ORDER BY m.seq LIMIT 1)`
  return {
    // Appends to the journal, and changes nothing else.
    appendSingleTurn: defineFunction(
      "append_single_turn",
      `(${laterTurn}) RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
    BEGIN
      INSERT INTO ${journal}
      SELECT ${row("i.key")} FROM ${s}.instance i
      WHERE i.id = of_id AND i.incarnation = of_incarnation AND i.status NOT IN ${ended} AND i.limits IS NULL AND ${isNext("i.key")}
      ON CONFLICT DO NOTHING;
      RETURN FOUND;
    END $$`,
    ),
    // Changes the state. An inbox without mail holds nothing to consume or to see first, and stays so under the lock of the row.
    changeSingleTurn: defineFunction(
      "change_single_turn",
      `(${laterTurn}, ${state}) RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
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
    ),
    createSingleTurn: defineFunction(
      "create_single_turn",
      `(${turn}, ${state}, of_workflow text, of_version text, of_created_at bigint, of_queue text, of_events text)
    RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      new_key bigint;
    BEGIN
      INSERT INTO ${s}.instance AS i (
        id, incarnation, workflow, version, created_at, updated_at, status, phase, due_at, owner, run, run_position, end_position, queue, events
      ) VALUES (
        of_id, of_incarnation, of_workflow, of_version, of_created_at, of_at,
        new_status, new_phase, new_due_at, new_owner, new_run, new_run_position, new_end_position, of_queue, of_events
      ) ON CONFLICT (id) DO NOTHING RETURNING i.key INTO new_key;
      IF new_key IS NULL THEN RETURN false; END IF;
      INSERT INTO ${journal} VALUES (${row("new_key")});
      RETURN true;
    END $$`,
    ),
    // Consumes messages and changes the state. Other unread messages are discarded, or stay. The function checks that the consumed messages are in the
    // inbox: a worker that took a message from a notification does not know that.
    consumeSingleTurn: defineFunction(
      "consume_single_turn",
      `(${laterTurn}, ${state}, consumed bigint[], seen bigint, discards boolean)
    RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      found_key bigint;
      is_left boolean := false;
    BEGIN
      SELECT i.key INTO found_key FROM ${s}.instance i
      WHERE i.id = of_id AND i.incarnation = of_incarnation AND i.limits IS NULL AND i.uniques IS NULL FOR NO KEY UPDATE;
      IF NOT FOUND THEN RETURN false; END IF;
      -- One statement: on a cold connection each further statement costs as much as its work.
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
    END $$`,
    ),
  }
}
