/**
 * What makes the tables that are in a file and in the database of a Durable Object alike; schema.ts says what they are for. In a file they come with
 * its migrations, in an object when they are first written to: so they stand here by their names, and apart by who needs them.
 */

/** When an instance wants to be claimed, as a generated column. */
export const claimableAt = `INTEGER GENERATED ALWAYS AS (
    CASE
      WHEN owner IS NOT NULL THEN NULL
      WHEN status IN ('completed', 'failed', 'cancelled', 'terminated') THEN due_at
      WHEN status IN ('paused', 'stalled') THEN min(ifnull(due_at, control_at), ifnull(control_at, due_at))
      WHEN parked_on IS NOT NULL THEN nullif(
        min(ifnull(parked_until, 9007199254740991), ifnull(deadline_at, 9007199254740991), ifnull(control_at, 9007199254740991)),
        9007199254740991
      )
      ELSE min(ifnull(due_at, mail_at), ifnull(mail_at, due_at))
    END
  ) VIRTUAL`

/** 1 for a new start, 0 for an instance that has begun. The indexes of claims hold this expression, and a query must use the same one. */
export function isStartExpression(prefix = ""): string {
  return `(CASE WHEN ${prefix}status = 'queued' THEN 1 ELSE 0 END)`
}

/** The declared events of instances, in databases that were made without them. */
export const addEvents = `ALTER TABLE perdure_instance ADD COLUMN events TEXT`

/** What instances and leases are in. */
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

/** What limits and keys are in. */
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

/** What schedules are in. */
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
