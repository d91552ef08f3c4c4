import type { DefineFunction, Functions } from "./function-definitions.ts"
import { byIndex } from "./function-planner-settings.ts"

const ended = `('completed', 'failed', 'cancelled', 'terminated')`
const controls = `('pause', 'resume', 'cancel', 'terminate')`

/** Functions that write messages into inboxes. They keep `mail_at` and `control_at` of the instance up to date, under the lock of the instance's row. */
export function messageFunctions(s: string, defineFunction: DefineFunction, functions: Functions<"nowMs">) {
  const insertMessage = defineInsertMessage(s, defineFunction)
  const deliverMessage = defineFunction(
    "deliver_message",
    `(message jsonb, now bigint) RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    RETURN (${insertMessage}(
      message->>'instance', message->>'incarnation', message->>'kind', (message->>'at')::bigint, message->>'topic', message->>'eventId', message->>'payload',
      message ? 'isChecked', now
    )).outcome;
  END $$`,
  )
  // Rows are locked in one order, whatever the order of the messages, so that two senders cannot wait for each other.
  const deliverMessages = defineFunction(
    "deliver_messages",
    `(messages jsonb) RETURNS text[] LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      now bigint := ${functions.nowMs}();
      message jsonb;
      outcomes text[] := '{}';
    BEGIN
      IF jsonb_array_length(messages) > 1 THEN
        PERFORM 1 FROM ${s}.instance i WHERE i.id IN (SELECT m->>'instance' FROM jsonb_array_elements(messages) m) ORDER BY i.id FOR NO KEY UPDATE;
      END IF;
      FOR message IN SELECT m FROM jsonb_array_elements(messages) WITH ORDINALITY AS given (m, n) ORDER BY n LOOP
        outcomes := outcomes || ${deliverMessage}(message, now);
      END LOOP;
      RETURN outcomes;
    END $$`,
  )
  // After messages were removed from an inbox.
  const updateMailTimes = defineFunction(
    "update_mail_times",
    `(of_key bigint, now bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE ${s}.instance i SET
      mail_at = (SELECT least(m.at, now) FROM ${s}.inbox m WHERE m.instance = of_key ORDER BY m.seq LIMIT 1),
      control_at = CASE WHEN i.control_at IS NOT NULL THEN (
        SELECT least(m.at, now) FROM ${s}.inbox m WHERE m.instance = of_key AND m.kind IN ${controls} ORDER BY m.seq LIMIT 1
      ) END
    WHERE i.key = of_key AND i.mail_at IS NOT NULL
  $$`,
  )
  return { deliverMessage, deliverMessages, updateMailTimes, deliverAndNotify: defineDeliverAndNotify(s, defineFunction, { ...functions, insertMessage }) }
}

/**
 * Inserts one message, under the lock of its instance's row. The outcome is 'delivered', 'absent', 'ended', 'duplicate' or 'unknown-event'. `is_alone`: the
 * inbox was empty. `is_checked`: refuse an event whose type the instance does not declare, if the instance declares its events. A message from a sender whose
 * clock is ahead wakes the instance now, not later.
 */
function defineInsertMessage(s: string, defineFunction: DefineFunction): string {
  return defineFunction(
    "insert_message",
    `(
    of_id text, of_incarnation text, of_kind text, of_at bigint, of_topic text, of_event_id text, of_payload text, is_checked boolean, now bigint,
    OUT outcome text, OUT new_seq bigint, OUT is_alone boolean
  ) LANGUAGE plpgsql AS $$
  DECLARE
    found_key bigint;
    found_status text;
    found_events text;
    wakes_at bigint := least(of_at, now);
    is_control boolean := of_kind IN ${controls};
  BEGIN
    SELECT i.key, i.status, i.mail_at IS NULL, i.events INTO found_key, found_status, is_alone, found_events FROM ${s}.instance i
    WHERE i.id = of_id AND (of_incarnation IS NULL OR i.incarnation = of_incarnation) FOR NO KEY UPDATE;
    IF found_key IS NULL THEN
      outcome := 'absent';
    ELSIF found_status IN ${ended} THEN
      outcome := 'ended';
    ELSIF is_checked AND found_events IS NOT NULL AND NOT found_events::jsonb ? of_topic THEN
      outcome := 'unknown-event';
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
  END $$`,
  )
}

/**
 * Delivers one message, and notifies the listeners with the commit. If the message is alone in the inbox, `push_payload` carries the message itself: on a channel that
 * only roles that may read these tables know. The common channel then gets `payload_if_pushed`, which says that the message was pushed.
 */
function defineDeliverAndNotify(s: string, defineFunction: DefineFunction, functions: Functions<"nowMs"> & Functions<"insertMessage">): string {
  return defineFunction(
    "deliver_and_notify",
    `(
    of_id text, of_incarnation text, of_kind text, of_at bigint, of_topic text, of_event_id text, of_payload text, is_checked boolean,
    channel text, payload text, push_channel text, payload_if_pushed text, push_payload text
  ) RETURNS text LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    inserted record;
    found_key bigint;
    new_seq bigint;
  BEGIN
    -- The usual case in the fewest statements: no control message, the instance has not ended, and its inbox is empty.
    UPDATE ${s}.instance i SET mail_at = least(of_at, ${functions.nowMs}())
    WHERE i.id = of_id AND (of_incarnation IS NULL OR i.incarnation = of_incarnation) AND i.mail_at IS NULL
      AND i.status NOT IN ${ended} AND of_kind NOT IN ${controls}
      AND (NOT is_checked OR i.events IS NULL OR i.events::jsonb ? of_topic)
    RETURNING i.key INTO found_key;
    IF FOUND THEN
      INSERT INTO ${s}.inbox AS m (instance, kind, at, topic, event_id, payload)
      VALUES (found_key, of_kind, of_at, of_topic, of_event_id, of_payload) RETURNING m.seq INTO new_seq;
      -- pg_notify returns an empty value. An expression needs no statement of its own, as PERFORM would.
      RETURN 'delivered' || pg_notify(push_channel, push_payload || new_seq || '}')::text || pg_notify(channel, payload_if_pushed)::text;
    END IF;
    inserted := ${functions.insertMessage}(of_id, of_incarnation, of_kind, of_at, of_topic, of_event_id, of_payload, is_checked, ${functions.nowMs}());
    IF inserted.is_alone AND inserted.outcome = 'delivered' THEN
      PERFORM pg_notify(push_channel, push_payload || inserted.new_seq || '}'), pg_notify(channel, payload_if_pushed);
    ELSE
      PERFORM pg_notify(channel, payload);
    END IF;
    RETURN inserted.outcome;
  END $$`,
  )
}
