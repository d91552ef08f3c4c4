import { isStartExpression } from "./claim-functions.ts"
import { newToken } from "../reads/change-stream-token.ts"

/**
 * The tables, as numbered migrations that only add, in a schema of their own. Functions are not part of the migrations: function-set.ts.
 *
 *   instance  one row per instance; changes only with status, wake-up, owner, or the first unread message. Its key stands for one
 *             incarnation for ever.
 *   journal   one row per turn; (instance, position) is the fence. `xid` and `seq` are the order of the change stream.
 *   inbox     unread messages; `seq` is assigned under the lock of the instance's row, and so in the order of acknowledgement
 *   lease     one row per worker: when the lease ends, and when it was renewed
 *   offer     what each worker executes: workflows, versions and queues, as JSON. It is apart from the lease, because every claim writes the lease.
 *   origin    a token that the cursors of this store's changes carry
 *   push_channel  one secret: only roles that may read it can hear and send the notifications that carry messages
 *   function_set  one row per set of functions: the names of the functions, and when a process last noted that it uses the set (function-use.ts)
 *   slot, limits, unique_key, rate, line_seq: flow control, as the SQLite store has it
 *   schedule  one row per schedule; its input is long, and rarely written
 *   task      one row per task that has not ended, with the id of its instance. `seq` is the order of writing, and so the order of claims. `expires_at`
 *             says when the task has to be ended. `details` is JSON text, so that a function can put it into an ending.
 *   task_rate    how many tasks of a queue with a rate were claimed in the present period
 *   task_worker  the processes that claim tasks: which queues (null: all) and which activities, as JSON lists, and until when that is true
 *
 * Long text needs no chunks: PostgreSQL itself keeps it beside the row, in parts.
 *
 * The tables that grow (instance, journal and inbox) may be partitioned by a hash of the instance: its id, or its key. The table of tasks has rows only for
 * tasks that have not ended, and a claim needs the oldest of a queue: in partitions it would have to search each.
 *
 * `queue` is the task queue, empty for the default queue. `events` holds the types of events that the instance's workflow declares, as a JSON list; null: the
 * workflow declares none. `claimable_at` says when an instance is to be claimed, and is null while it has an owner. It is a generated column, so it always
 * agrees with the columns that it depends on.
 */
export interface Migration {
  readonly version: number
  /** The oldest code that may work on a database with this migration, named by the highest migration of that code. */
  readonly compatible: number
  /** `partitions`: how many partitions each table that grows has; 0: no table is partitioned. */
  readonly statements: (schema: string, partitions: number) => readonly string[]
}

const text = `text COLLATE "C"`

export const migrations: readonly Migration[] = [
  {
    version: 1,
    compatible: 1,
    statements: (s, partitions) => [
      `CREATE TABLE ${s}.origin (token text NOT NULL)`,
      `INSERT INTO ${s}.origin (token) VALUES (${newToken})`,
      `CREATE SEQUENCE ${s}.instance_key`,
      ...growing(
        s,
        partitions,
        "instance",
        "id",
        "fillfactor = 80",
        `
        key bigint NOT NULL DEFAULT nextval('${s}.instance_key'),
        id ${text} PRIMARY KEY,
        incarnation ${text} NOT NULL,
        workflow ${text} NOT NULL,
        version ${text} NOT NULL,
        created_at bigint NOT NULL,
        updated_at bigint NOT NULL,
        tags text,
        status text NOT NULL,
        phase text,
        due_at bigint,
        owner ${text},
        crashed boolean NOT NULL DEFAULT false,
        run bigint NOT NULL,
        run_position bigint NOT NULL,
        end_position bigint,
        mail_at bigint,
        control_at bigint,
        priority bigint NOT NULL DEFAULT 0,
        limits text,
        uniques text,
        lane ${text},
        held integer NOT NULL DEFAULT 0,
        paid boolean NOT NULL DEFAULT false,
        queued_for ${text},
        queued_priority bigint,
        queued_seq bigint,
        queued_until bigint,
        deadline_at bigint,
        queue ${text} NOT NULL DEFAULT '',
        memo text,
        events text,
        claimable_at bigint GENERATED ALWAYS AS (
          CASE
            WHEN owner IS NOT NULL THEN NULL
            WHEN status IN ('completed', 'failed', 'cancelled', 'terminated') THEN due_at
            WHEN status IN ('paused', 'stalled') THEN least(due_at, control_at)
            WHEN queued_for IS NOT NULL THEN least(queued_until, deadline_at, control_at)
            ELSE least(due_at, mail_at)
          END
        ) STORED`,
      ),
      // PostgreSQL can enforce uniqueness across partitions only for the partition key. The sequence makes the keys unique.
      `CREATE ${partitions === 0 ? "UNIQUE " : ""}INDEX instance_by_key ON ${s}.instance (key)`,
      `CREATE INDEX instance_claimable ON ${s}.instance (workflow, version, queue, priority, ${isStartExpression()}, claimable_at, key)
        WHERE claimable_at IS NOT NULL`,
      `CREATE INDEX instance_limited ON ${s}.instance (workflow, version, claimable_at) WHERE limits IS NOT NULL AND claimable_at IS NOT NULL`,
      `CREATE INDEX instance_lane ON ${s}.instance (workflow, version, queue, priority, ${isStartExpression()}, lane, claimable_at, key)
        WHERE lane IS NOT NULL AND claimable_at IS NOT NULL`,
      `CREATE INDEX instance_queued ON ${s}.instance (queued_for, queued_priority DESC, queued_seq) WHERE queued_for IS NOT NULL`,
      `CREATE INDEX instance_owner ON ${s}.instance (owner) WHERE owner IS NOT NULL`,
      `CREATE INDEX instance_unread ON ${s}.instance (owner) WHERE owner IS NOT NULL AND mail_at IS NOT NULL`,
      `CREATE INDEX instance_created ON ${s}.instance (created_at, key)`,
      `CREATE INDEX instance_workflow ON ${s}.instance (workflow, status, created_at, key)`,
      `CREATE INDEX instance_status ON ${s}.instance (status, created_at, key)`,
      `CREATE INDEX instance_queue ON ${s}.instance (queue, status, created_at, key) WHERE queue <> ''`,
      `CREATE TABLE ${s}.tag (tag ${text} NOT NULL, created_at bigint NOT NULL, instance bigint NOT NULL, PRIMARY KEY (tag, created_at, instance))`,
      // The turns of one batch share a block of numbers.
      `CREATE SEQUENCE ${s}.journal_seq INCREMENT BY 65536`,
      ...growing(
        s,
        partitions,
        "journal",
        "instance",
        undefined,
        `
        instance bigint NOT NULL,
        position bigint NOT NULL,
        count integer NOT NULL,
        run bigint NOT NULL,
        at bigint NOT NULL,
        seq bigint NOT NULL,
        xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
        turn ${text} NOT NULL,
        entries text NOT NULL,
        blobs text[],
        PRIMARY KEY (instance, position)`,
      ),
      `CREATE INDEX journal_changes ON ${s}.journal (xid, seq)`,
      `CREATE SEQUENCE ${s}.inbox_seq`,
      ...growing(
        s,
        partitions,
        "inbox",
        "instance",
        undefined,
        `
        seq bigint NOT NULL DEFAULT nextval('${s}.inbox_seq'),
        instance bigint NOT NULL,
        kind text NOT NULL,
        at bigint NOT NULL,
        topic text,
        event_id ${text},
        payload text,
        PRIMARY KEY (instance, seq)`,
      ),
      `CREATE TABLE ${s}.lease (worker ${text} PRIMARY KEY, until bigint NOT NULL, renewed_at bigint)`,
      `CREATE TABLE ${s}.offer (worker ${text} PRIMARY KEY, offers text NOT NULL)`,
      `CREATE TABLE ${s}.push_channel (secret text NOT NULL)`,
      `INSERT INTO ${s}.push_channel VALUES (gen_random_uuid())`,
      `CREATE TABLE ${s}.function_set (hash text PRIMARY KEY, names text[] NOT NULL, used_at timestamptz NOT NULL)`,
      `CREATE TABLE ${s}.slot (limit_key ${text} NOT NULL, instance bigint NOT NULL, PRIMARY KEY (limit_key, instance))`,
      `CREATE TABLE ${s}.limits (
        workflow ${text} NOT NULL,
        name ${text} NOT NULL,
        max bigint NOT NULL,
        per_ms bigint,
        set_max bigint,
        set_per_ms bigint,
        PRIMARY KEY (workflow, name)
      )`,
      `CREATE TABLE ${s}.unique_key (kind text NOT NULL, key ${text} NOT NULL, instance bigint NOT NULL, PRIMARY KEY (kind, key))`,
      `CREATE TABLE ${s}.rate (limit_key ${text} PRIMARY KEY, tat double precision NOT NULL)`,
      `CREATE INDEX rate_tat ON ${s}.rate (tat)`,
      // Instances that are queued for a slot in one transaction share a block of numbers.
      `CREATE SEQUENCE ${s}.line_seq INCREMENT BY 65536`,
      `CREATE TABLE ${s}.schedule (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id ${text} NOT NULL UNIQUE,
        incarnation ${text} NOT NULL,
        revision bigint NOT NULL,
        workflow ${text} NOT NULL,
        created_at bigint NOT NULL,
        updated_at bigint NOT NULL,
        due_at bigint,
        awaits ${text},
        state text NOT NULL,
        input text
      )`,
      `CREATE INDEX schedule_due ON ${s}.schedule (due_at) WHERE due_at IS NOT NULL`,
      `CREATE INDEX schedule_awaits ON ${s}.schedule (awaits) WHERE awaits IS NOT NULL`,
      `CREATE INDEX schedule_workflow ON ${s}.schedule (workflow, id)`,
      `CREATE SEQUENCE ${s}.task_seq`,
      `CREATE TABLE ${s}.task (
        id ${text} PRIMARY KEY,
        seq bigint NOT NULL DEFAULT nextval('${s}.task_seq'),
        instance ${text} NOT NULL,
        incarnation ${text} NOT NULL,
        step text NOT NULL,
        attempt bigint NOT NULL,
        activity ${text} NOT NULL,
        queue ${text} NOT NULL,
        key text NOT NULL,
        created_at bigint NOT NULL,
        timeout_ms bigint,
        heartbeat_ms bigint,
        start_by bigint,
        close_by bigint,
        sensitive boolean,
        worker text,
        token text,
        claimed_at bigint,
        heartbeat_at bigint,
        lease_until bigint,
        expires_at bigint GENERATED ALWAYS AS (
          least(close_by, CASE WHEN token IS NULL THEN start_by ELSE least(lease_until, claimed_at + timeout_ms, heartbeat_at + heartbeat_ms) END)
        ) STORED,
        details text,
        input text NOT NULL
      )`,
      `CREATE INDEX task_waiting ON ${s}.task (queue, activity, seq) WHERE token IS NULL`,
      `CREATE INDEX task_instance ON ${s}.task (instance)`,
      `CREATE INDEX task_expires ON ${s}.task (expires_at) WHERE expires_at IS NOT NULL`,
      `CREATE TABLE ${s}.task_rate (queue ${text} PRIMARY KEY, since bigint NOT NULL, claimed bigint NOT NULL)`,
      `CREATE TABLE ${s}.task_worker (worker ${text} PRIMARY KEY, until bigint NOT NULL, queues text, activities text NOT NULL)`,
    ],
  },
]

/** Creates a table that has one or more rows for each instance, with partitions if `partitions` is not 0. */
function growing(s: string, partitions: number, table: string, key: string, storage: string | undefined, columns: string): readonly string[] {
  const stored = storage === undefined ? "" : ` WITH (${storage})`
  if (partitions === 0) return [`CREATE TABLE ${s}.${table} (${columns})${stored}`]
  return [
    `CREATE TABLE ${s}.${table} (${columns}) PARTITION BY HASH (${key})`,
    ...Array.from(
      { length: partitions },
      (_, at) => `CREATE TABLE ${s}.${table}_p${at} PARTITION OF ${s}.${table} FOR VALUES WITH (MODULUS ${Number(partitions)}, REMAINDER ${at})${stored}`,
    ),
  ]
}
