import { byIndex } from "./planned-once.ts"

/** Messages: into an inbox, and out of it. `mail_at` and `control_at` of the instance are kept in step under the lock of its row. */
export function deliverFunctions(s: string): readonly string[] {
  return [
    // A message from a sender whose clock is ahead wakes now, not later.
    `CREATE FUNCTION ${s}.deliver_one(message jsonb, now bigint) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      found_key bigint;
      found_status text;
      wakes_at bigint := least((message->>'at')::bigint, now);
      is_control boolean := message->>'kind' IN ('pause', 'resume', 'cancel', 'terminate');
    BEGIN
      SELECT i.key, i.status INTO found_key, found_status FROM ${s}.instance i
      WHERE i.id = message->>'instance' AND (message->>'incarnation' IS NULL OR i.incarnation = message->>'incarnation')
      FOR NO KEY UPDATE;
      IF found_key IS NULL THEN RETURN 'absent'; END IF;
      IF found_status IN ('completed', 'failed', 'cancelled', 'terminated') THEN RETURN 'ended'; END IF;
      IF message->>'eventId' IS NOT NULL AND EXISTS (
        SELECT 1 FROM ${s}.inbox m WHERE m.instance = found_key AND m.event_id = message->>'eventId'
      ) THEN RETURN 'duplicate'; END IF;
      INSERT INTO ${s}.inbox (instance, kind, at, topic, event_id, payload)
      VALUES (found_key, message->>'kind', (message->>'at')::bigint, message->>'topic', message->>'eventId', message->>'payload');
      UPDATE ${s}.instance i SET
        mail_at = coalesce(i.mail_at, wakes_at),
        control_at = CASE WHEN is_control THEN coalesce(i.control_at, wakes_at) ELSE i.control_at END
      WHERE i.key = found_key AND (i.mail_at IS NULL OR (is_control AND i.control_at IS NULL));
      RETURN 'delivered';
    END $$`,
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
    // After messages were taken out.
    `CREATE FUNCTION ${s}.remark(of_key bigint, now bigint) RETURNS void LANGUAGE sql AS $$
      UPDATE ${s}.instance i SET
        mail_at = (SELECT least(m.at, now) FROM ${s}.inbox m WHERE m.instance = of_key ORDER BY m.seq LIMIT 1),
        control_at = (
          SELECT least(m.at, now) FROM ${s}.inbox m
          WHERE m.instance = of_key AND m.kind IN ('pause', 'resume', 'cancel', 'terminate') ORDER BY m.seq LIMIT 1
        )
      WHERE i.key = of_key AND i.mail_at IS NOT NULL
    $$`,
  ]
}
