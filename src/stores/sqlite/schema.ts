/**
 * The tables, as numbered, additive migrations. They carry a prefix because a user's own tables may live in the same file.
 *
 *   instance  one row per instance; changes only with status, wake-up, owner, or the first unread message
 *   journal   one row per turn. `seq` is the order of appending, over all instances: a commit of a thousand interleaved
 *             instances fills the last pages of the table instead of dirtying a thousand. (instance, position) is the fence.
 *   inbox     unread messages. AUTOINCREMENT: a `seq` must never come again although read rows are deleted.
 *   *_chunk   what is too large for one row, UTF-8 in parts of at most 1 MiB
 *   schedule  one row per schedule; changes with every due time. What never changes, and may be long, is beside it in schedule_input.
 *
 * `claim_at` says when an instance wants to be claimed, and is null while it is owned. As a generated column it cannot go
 * out of step; with its partial index a claim costs the same whatever the number of instances. It rests on `mail_at` and
 * `control_at`: since when there are unread messages, and unread messages other than events, which alone wake a paused or stalled one.
 */
export interface Migration {
  readonly version: number
  /** The oldest code that may go on working on a database with this migration: its own highest migration. */
  readonly compatible: number
  readonly statements: readonly string[]
}

export const migrations: readonly Migration[] = [
  {
    version: 1,
    compatible: 1,
    statements: [
      `CREATE TABLE perdure_instance (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        incarnation TEXT NOT NULL,
        workflow TEXT NOT NULL,
        version TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        tags TEXT,
        status TEXT NOT NULL,
        phase TEXT,
        due_at INTEGER,
        owner TEXT,
        crashed INTEGER NOT NULL DEFAULT 0,
        run INTEGER NOT NULL,
        run_position INTEGER NOT NULL,
        end_position INTEGER,
        mail_at INTEGER,
        control_at INTEGER,
        claim_at INTEGER GENERATED ALWAYS AS (
          CASE
            WHEN owner IS NOT NULL THEN NULL
            WHEN status IN ('completed', 'failed', 'cancelled', 'terminated') THEN due_at
            WHEN status IN ('paused', 'stalled') THEN min(ifnull(due_at, control_at), ifnull(control_at, due_at))
            ELSE min(ifnull(due_at, mail_at), ifnull(mail_at, due_at))
          END
        ) VIRTUAL
      ) STRICT`,
      `CREATE INDEX perdure_instance_claim ON perdure_instance (workflow, version, claim_at) WHERE claim_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_owner ON perdure_instance (owner) WHERE owner IS NOT NULL`,
      `CREATE INDEX perdure_instance_unread ON perdure_instance (owner) WHERE owner IS NOT NULL AND mail_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_created ON perdure_instance (created_at)`,
      `CREATE INDEX perdure_instance_workflow ON perdure_instance (workflow, status, created_at)`,
      `CREATE INDEX perdure_instance_status ON perdure_instance (status, created_at)`,
      `CREATE TABLE perdure_tag (
        tag TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        instance INTEGER NOT NULL,
        PRIMARY KEY (tag, created_at, instance)
      ) STRICT, WITHOUT ROWID`,
      `CREATE TABLE perdure_journal (
        seq INTEGER PRIMARY KEY,
        instance INTEGER NOT NULL,
        position INTEGER NOT NULL,
        count INTEGER NOT NULL,
        run INTEGER NOT NULL,
        at INTEGER NOT NULL,
        turn TEXT NOT NULL,
        entries TEXT NOT NULL,
        chunks INTEGER,
        UNIQUE (instance, position)
      ) STRICT`,
      `CREATE TABLE perdure_journal_chunk (
        instance INTEGER NOT NULL,
        position INTEGER NOT NULL,
        blob INTEGER NOT NULL,
        part INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (instance, position, blob, part)
      ) STRICT, WITHOUT ROWID`,
      `CREATE TABLE perdure_inbox (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        instance INTEGER NOT NULL,
        kind TEXT NOT NULL,
        at INTEGER NOT NULL,
        topic TEXT,
        event_id TEXT,
        payload TEXT,
        chunks INTEGER
      ) STRICT`,
      `CREATE INDEX perdure_inbox_instance ON perdure_inbox (instance)`,
      `CREATE INDEX perdure_inbox_event ON perdure_inbox (instance, event_id) WHERE event_id IS NOT NULL`,
      `CREATE TABLE perdure_inbox_chunk (
        message INTEGER NOT NULL,
        part INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (message, part)
      ) STRICT, WITHOUT ROWID`,
      `CREATE TABLE perdure_lease (worker TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
    ],
  },
  // The place of flow control.
  { version: 2, compatible: 1, statements: [] },
  {
    version: 3,
    compatible: 1,
    statements: [
      `CREATE TABLE perdure_schedule (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        incarnation TEXT NOT NULL,
        revision INTEGER NOT NULL,
        workflow TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        due_at INTEGER,
        awaits TEXT,
        state TEXT NOT NULL
      ) STRICT`,
      `CREATE INDEX perdure_schedule_due ON perdure_schedule (due_at) WHERE due_at IS NOT NULL`,
      `CREATE INDEX perdure_schedule_awaits ON perdure_schedule (awaits) WHERE awaits IS NOT NULL`,
      `CREATE INDEX perdure_schedule_workflow ON perdure_schedule (workflow, id)`,
      `CREATE TABLE perdure_schedule_input (
        schedule INTEGER NOT NULL,
        part INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (schedule, part)
      ) STRICT, WITHOUT ROWID`,
    ],
  },
]
