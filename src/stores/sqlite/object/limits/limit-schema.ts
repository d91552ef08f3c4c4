import type { Migration } from "../../schema/schema.ts"

/**
 * The tables of one limit key, which has a database of its own.
 *
 *   limit_member   instances that hold a slot or queue for one. `slot`: the instance holds a slot; of a rate limit, it starts next.
 *                  `must_notify`: the instance has a slot and does not know this yet. `seen_at`: when the instance last asked.
 *   limit_rate     when all starts would have been due if they had been spread evenly
 *   limit_setting  the numbers that were set for the limit, as the limit settings object last sent them. `token`: the key's registration there;
 *                  empty if the key has none. `joined`: the limit settings object has confirmed the registration.
 */
export const limitMigrations: readonly Migration[] = [
  {
    version: 1,
    compatible: 1,
    statements: [
      `CREATE TABLE perdure_limit_member (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL,
        incarnation TEXT NOT NULL,
        use TEXT NOT NULL,
        priority INTEGER NOT NULL,
        cancelling INTEGER NOT NULL,
        slot INTEGER NOT NULL DEFAULT 0,
        held INTEGER NOT NULL DEFAULT 0,
        paid INTEGER NOT NULL DEFAULT 0,
        queued_priority INTEGER,
        queued_seq INTEGER,
        queued_until INTEGER,
        must_notify INTEGER NOT NULL DEFAULT 0,
        seen_at INTEGER NOT NULL,
        UNIQUE (id, incarnation)
      ) STRICT`,
      `CREATE INDEX perdure_limit_member_slot ON perdure_limit_member (slot) WHERE slot = 1`,
      `CREATE INDEX perdure_limit_member_line ON perdure_limit_member (queued_priority DESC, queued_seq) WHERE queued_seq IS NOT NULL`,
      `CREATE INDEX perdure_limit_member_until ON perdure_limit_member (queued_until) WHERE queued_until IS NOT NULL`,
      `CREATE INDEX perdure_limit_member_notify ON perdure_limit_member (must_notify) WHERE must_notify = 1`,
      `CREATE TABLE perdure_limit_rate (id INTEGER PRIMARY KEY, tat REAL NOT NULL) STRICT`,
      `CREATE TABLE perdure_limit_setting (
        id INTEGER PRIMARY KEY,
        workflow TEXT NOT NULL,
        name TEXT NOT NULL,
        key TEXT NOT NULL,
        token TEXT NOT NULL,
        joined INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        max INTEGER,
        per_ms INTEGER
      ) STRICT`,
    ],
  },
]
