import { byIndex } from "./function-planner-settings.ts"

/** Messages: into an inbox, and out of it. `mail_at` and `control_at` of the instance are kept in step under the lock of its row. */
export function deliverFunctions(s: string): readonly string[] {
  return [
    putMessageFunction(s),
    deliverOneFunction(s),
    // Rows are locked in one order, whatever the order of the messages: two senders cannot wait for each other.
    `CREATE FUNCTION ${s}.deliver(messages jsonb) RETURNS text[] LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      now bigint := ${s}.now_ms();
      message jsonb;
      outcomes text[] := '{}';
    BEGIN
      IF jsonb_array_length(messages) > 1 THEN
        PERFORM 1 FROM ${s}.instance i WHERE i.id IN (SELECT m->>'instance' FROM jsonb_array_elements(messages) m) ORDER BY i.id FOR NO KEY UPDATE;
      END IF;
      FOR message IN SELECT m FROM jsonb_array_elements(messages) WITH ORDINALITY AS given (m, n) ORDER BY n LOOP
        outcomes := outcomes || ${s}.deliver_one(message, now);
      END LOOP;
      RETURN outcomes;
    END $$`,
    remarkFunction(s),
  ]
}

/** After messages were taken out. */
export function remarkFunction(s: string): string {
  return `CREATE OR REPLACE FUNCTION ${s}.remark(of_key bigint, now bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE ${s}.instance i SET
      mail_at = (SELECT least(m.at, now) FROM ${s}.inbox m WHERE m.instance = of_key ORDER BY m.seq LIMIT 1),
      control_at = CASE WHEN i.control_at IS NOT NULL THEN (
        SELECT least(m.at, now) FROM ${s}.inbox m
        WHERE m.instance = of_key AND m.kind IN ('pause', 'resume', 'cancel', 'terminate') ORDER BY m.seq LIMIT 1
      ) END
    WHERE i.key = of_key AND i.mail_at IS NOT NULL
  $$`
}

/**
 * One message, under the lock of its instance's row. It comes to 'delivered', 'absent', 'ended' or 'duplicate'. `is_alone`: there was no other. A message
 * from a sender whose clock is ahead wakes now, not later.
 *
 * `put_checked` is for events: it comes to 'unknown-event' where the instance declares its events, and not this one. Code of an older version does not
 * know that answer, and would acknowledge the event: so it has a name of its own.
 */
export function putMessageFunction(s: string, isChecked = false): string {
  return `CREATE OR REPLACE FUNCTION ${s}.${isChecked ? "put_checked" : "put_message"}(
    of_id text, of_incarnation text, of_kind text, of_at bigint, of_topic text, of_event_id text, of_payload text, now bigint,
    OUT outcome text, OUT new_seq bigint, OUT is_alone boolean
  ) LANGUAGE plpgsql AS $$
  DECLARE
    found_key bigint;
    found_status text;${isChecked ? "\n    found_events text;" : ""}
    wakes_at bigint := least(of_at, now);
    is_control boolean := of_kind IN ('pause', 'resume', 'cancel', 'terminate');
  BEGIN
    SELECT i.key, i.status, i.mail_at IS NULL${isChecked ? ", i.events" : ""} INTO found_key, found_status, is_alone${isChecked ? ", found_events" : ""} FROM ${s}.instance i
    WHERE i.id = of_id AND (of_incarnation IS NULL OR i.incarnation = of_incarnation) FOR NO KEY UPDATE;
    IF found_key IS NULL THEN
      outcome := 'absent';
    ELSIF found_status IN ('completed', 'failed', 'cancelled', 'terminated') THEN
      outcome := 'ended';${isChecked ? unknownEvent : ""}
    ELSIF NOT is_alone AND of_event_id IS NOT NULL AND EXISTS (
      SELECT 1 FROM ${s}.inbox m WHERE m.instance = found_key AND m.event_id = of_event_id
    ) THEN
      outcome := 'duplicate';
    ELSE
      INSERT INTO ${s}.inbox AS m (instance, kind, at, topic, event_id, payload)
      VALUES (found_key, of_kind, of_at, of_topic, of_event_id, of_payload) RETURNING m.seq INTO new_seq;
      IF is_alone OR is_control THEN
        UPDATE ${s}.instance i SET
          mail_at = coalesce(i.mail_at, wakes_at),
          control_at = CASE WHEN is_control THEN coalesce(i.control_at, wakes_at) ELSE i.control_at END
        WHERE i.id = of_id AND (i.mail_at IS NULL OR i.control_at IS NULL);
      END IF;
      outcome := 'delivered';
    END IF;
  END $$`
}

const unknownEvent = `
    ELSIF found_events IS NOT NULL AND NOT found_events::jsonb ? of_topic THEN
      outcome := 'unknown-event';`

/** `knowsChecked`: in databases that have `put_checked`. */
export function deliverOneFunction(s: string, knowsChecked = false): string {
  const given = `message->>'instance', message->>'incarnation', message->>'kind', (message->>'at')::bigint, message->>'topic', message->>'eventId', message->>'payload', now`
  const checked = `
    IF message ? 'isChecked' THEN
      RETURN (${s}.put_checked(${given})).outcome;
    END IF;`
  return `CREATE OR REPLACE FUNCTION ${s}.deliver_one(message jsonb, now bigint) RETURNS text LANGUAGE plpgsql AS $$
  BEGIN${knowsChecked ? checked : ""}
    RETURN (${s}.put_message(
      ${given}
    )).outcome;
  END $$`
}

/**
 * One message, and those who listen are told with the commit. Where it is the only one it goes along, on the channel that only those know who may read
 * these tables; all others are told with `told_with` that it does. `deliver_checked` does the same with an event that is to be checked.
 */
export function deliverToldFunction(s: string, isChecked = false): string {
  return `CREATE OR REPLACE FUNCTION ${s}.${isChecked ? "deliver_checked" : "deliver_told"}(
    of_id text, of_incarnation text, of_kind text, of_at bigint, of_topic text, of_event_id text, of_payload text,
    channel text, told text, mail_channel text, told_with text, mail text
  ) RETURNS text LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    p record;
    found_key bigint;
    new_seq bigint;
  BEGIN
    -- What nearly all are, in the fewest statements: no control, for an instance that goes on and has no other.
    UPDATE ${s}.instance i SET mail_at = least(of_at, ${s}.now_ms())
    WHERE i.id = of_id AND (of_incarnation IS NULL OR i.incarnation = of_incarnation) AND i.mail_at IS NULL
      AND i.status NOT IN ('completed', 'failed', 'cancelled', 'terminated') AND of_kind NOT IN ('pause', 'resume', 'cancel', 'terminate')${isChecked ? "\n      AND (i.events IS NULL OR i.events::jsonb ? of_topic)" : ""}
    RETURNING i.key INTO found_key;
    IF FOUND THEN
      INSERT INTO ${s}.inbox AS m (instance, kind, at, topic, event_id, payload)
      VALUES (found_key, of_kind, of_at, of_topic, of_event_id, of_payload) RETURNING m.seq INTO new_seq;
      -- What pg_notify gives is empty. An expression is worked out on the spot; with PERFORM it would be a statement of its own.
      RETURN 'delivered' || pg_notify(mail_channel, mail || new_seq || '}')::text || pg_notify(channel, told_with)::text;
    END IF;
    p := ${s}.${isChecked ? "put_checked" : "put_message"}(of_id, of_incarnation, of_kind, of_at, of_topic, of_event_id, of_payload, ${s}.now_ms());
    IF p.is_alone AND p.outcome = 'delivered' THEN
      PERFORM pg_notify(mail_channel, mail || p.new_seq || '}'), pg_notify(channel, told_with);
    ELSE
      PERFORM pg_notify(channel, told);
    END IF;
    RETURN p.outcome;
  END $$`
}
