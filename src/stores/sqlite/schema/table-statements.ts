/**
 * The statements that create the tables which a file and the database of a Durable Object both have; schema.ts says what each table holds. A file gets
 * all of them with its first migration, an object gets most of them with the first write to each. So the statements stand here by table name.
 */

/** The columns of `perdure_instance` in files and in objects. A file also has `claimable_at`. */
export const instanceColumnDefinitions = `key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, incarnation TEXT NOT NULL,
        workflow TEXT NOT NULL, version TEXT NOT NULL, queue TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
        tags TEXT, memo TEXT, events TEXT,
        status TEXT NOT NULL, phase TEXT, due_at INTEGER, deadline_at INTEGER, owner TEXT, crashed INTEGER NOT NULL DEFAULT 0,
        run INTEGER NOT NULL, run_position INTEGER NOT NULL, end_position INTEGER, mail_at INTEGER, control_at INTEGER,
        priority INTEGER NOT NULL DEFAULT 0, limits TEXT, uniques TEXT, lane TEXT, held INTEGER NOT NULL DEFAULT 0, paid INTEGER NOT NULL DEFAULT 0,
        queued_for TEXT, queued_priority INTEGER, queued_seq INTEGER, queued_until INTEGER`

/** 1 for a new start, 0 for an instance that has begun. The indexes of claims hold this expression, and a query must use the same one. */
export function isStartExpression(prefix = ""): string {
  return `(CASE WHEN ${prefix}status = 'queued' THEN 1 ELSE 0 END)`
}

/** The tables of instances and leases. */
export const instanceTables = {
  perdure_tag: [
    `CREATE TABLE perdure_tag (
      tag TEXT NOT NULL, created_at INTEGER NOT NULL, instance INTEGER NOT NULL, PRIMARY KEY (tag, created_at, instance)
    ) STRICT, WITHOUT ROWID`,
  ],
  perdure_journal: [
    `CREATE TABLE perdure_journal (
      seq INTEGER PRIMARY KEY, instance INTEGER NOT NULL, position INTEGER NOT NULL, count INTEGER NOT NULL, run INTEGER NOT NULL, at INTEGER NOT NULL,
      turn TEXT NOT NULL, entries TEXT NOT NULL, chunks INTEGER, UNIQUE (instance, position)
    ) STRICT`,
  ],
  perdure_journal_chunk: [
    `CREATE TABLE perdure_journal_chunk (
      instance INTEGER NOT NULL, position INTEGER NOT NULL, blob INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL,
      PRIMARY KEY (instance, position, blob, part)
    ) STRICT, WITHOUT ROWID`,
  ],
  perdure_inbox: [
    `CREATE TABLE perdure_inbox (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, instance INTEGER NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL,
      topic TEXT, event_id TEXT, payload TEXT, chunks INTEGER
    ) STRICT`,
  ],
  perdure_inbox_chunk: [
    `CREATE TABLE perdure_inbox_chunk (message INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (message, part)) STRICT, WITHOUT ROWID`,
  ],
  perdure_lease: [`CREATE TABLE perdure_lease (worker TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID`],
  perdure_offer: [`CREATE TABLE perdure_offer (worker TEXT PRIMARY KEY, offers TEXT NOT NULL) STRICT, WITHOUT ROWID`],
} as const

/** The tables of limits and unique keys. */
export const flowTables = {
  perdure_slot: [
    `CREATE TABLE perdure_slot (
      limit_key TEXT NOT NULL,
      instance INTEGER NOT NULL,
      PRIMARY KEY (limit_key, instance)
    ) STRICT, WITHOUT ROWID`,
  ],
  perdure_limit: [
    `CREATE TABLE perdure_limit (
      workflow TEXT NOT NULL,
      name TEXT NOT NULL,
      max INTEGER NOT NULL,
      per_ms INTEGER,
      set_max INTEGER,
      set_per_ms INTEGER,
      PRIMARY KEY (workflow, name)
    ) STRICT, WITHOUT ROWID`,
  ],
  perdure_unique: [
    `CREATE TABLE perdure_unique (
      kind TEXT NOT NULL,
      key TEXT NOT NULL,
      instance INTEGER NOT NULL,
      PRIMARY KEY (kind, key)
    ) STRICT, WITHOUT ROWID`,
  ],
  perdure_rate: [`CREATE TABLE perdure_rate (limit_key TEXT PRIMARY KEY, tat REAL NOT NULL) STRICT, WITHOUT ROWID`],
  perdure_line: [`CREATE TABLE perdure_line (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT`, `INSERT INTO perdure_line (id, seq) VALUES (1, 0)`],
} as const

/** The tables of schedules. */
export const scheduleTables = {
  perdure_schedule: [
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
  ],
  perdure_schedule_input: [
    `CREATE TABLE perdure_schedule_input (
      schedule INTEGER NOT NULL,
      part INTEGER NOT NULL,
      bytes BLOB NOT NULL,
      PRIMARY KEY (schedule, part)
    ) STRICT, WITHOUT ROWID`,
  ],
} as const

/** The indexes on tasks. `perdure_task_waiting` and `perdure_task_claimed` have the column of their condition, so that a count need not read the rows. */
export const taskIndexes = [
  `CREATE INDEX perdure_task_waiting ON perdure_task (queue, activity, seq, token) WHERE token IS NULL`,
  `CREATE INDEX perdure_task_claimed ON perdure_task (queue, token) WHERE token IS NOT NULL`,
  `CREATE INDEX perdure_task_instance ON perdure_task (instance)`,
  `CREATE INDEX perdure_task_expires ON perdure_task (expires_at) WHERE expires_at IS NOT NULL`,
] as const

/**
 * The tables of task queues, which no object with one instance has. `expires_at` is null for a task without a limit of time; like `claimable_at` it is
 * computed, so it cannot disagree with its columns. The long columns come last, so a query of the others does not read through them.
 */
export const taskTables = {
  perdure_task: [
    `CREATE TABLE perdure_task (
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      instance INTEGER NOT NULL,
      step TEXT NOT NULL,
      attempt INTEGER NOT NULL,
      activity TEXT NOT NULL,
      queue TEXT NOT NULL,
      "key" TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      timeout_ms INTEGER,
      heartbeat_ms INTEGER,
      start_by INTEGER,
      close_by INTEGER,
      sensitive INTEGER,
      worker TEXT,
      token TEXT,
      claimed_at INTEGER,
      heartbeat_at INTEGER,
      lease_until INTEGER,
      expires_at INTEGER GENERATED ALWAYS AS (nullif(
        min(
          ifnull(close_by, 9007199254740991),
          CASE WHEN token IS NULL THEN ifnull(start_by, 9007199254740991) ELSE min(
            lease_until, ifnull(claimed_at + timeout_ms, 9007199254740991), ifnull(heartbeat_at + heartbeat_ms, 9007199254740991)
          ) END
        ),
        9007199254740991
      )) VIRTUAL,
      chunks INTEGER,
      details TEXT,
      input TEXT NOT NULL
    ) STRICT`,
  ],
  perdure_task_chunk: [
    `CREATE TABLE perdure_task_chunk (task INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (task, part)) STRICT, WITHOUT ROWID`,
  ],
  perdure_task_rate: [`CREATE TABLE perdure_task_rate (queue TEXT PRIMARY KEY, since INTEGER NOT NULL, claimed INTEGER NOT NULL) STRICT, WITHOUT ROWID`],
  perdure_task_worker: [
    `CREATE TABLE perdure_task_worker (worker TEXT PRIMARY KEY, until INTEGER NOT NULL, queues TEXT, activities TEXT NOT NULL) STRICT, WITHOUT ROWID`,
  ],
} as const
