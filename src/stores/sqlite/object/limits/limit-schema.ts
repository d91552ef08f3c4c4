import type { Migration } from "../../schema/schema.ts"

/**
 * The tables of one key of a limit, which is a database of its own.
 *
 *   limit_member  instances that have a slot or stand in line. `slot`: it counts; of a rate, it is the next to start. `tell`: it has its slot and
 *                 does not know of it yet. `seen_at`: when it last asked.
 *   limit_rate    when all that was started would have been due, had it been spread evenly
 *   limit_number  what was set for the limit; `token`: by which the key has joined those that are told, `joined`: it is known to have
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
        parked_priority INTEGER,
        parked_seq INTEGER,
        parked_until INTEGER,
        tell INTEGER NOT NULL DEFAULT 0,
        seen_at INTEGER NOT NULL,
        UNIQUE (id, incarnation)
      ) STRICT`,
      `CREATE INDEX perdure_limit_member_slot ON perdure_limit_member (slot) WHERE slot = 1`,
      `CREATE INDEX perdure_limit_member_line ON perdure_limit_member (parked_priority DESC, parked_seq) WHERE parked_seq IS NOT NULL`,
      `CREATE INDEX perdure_limit_member_until ON perdure_limit_member (parked_until) WHERE parked_until IS NOT NULL`,
      `CREATE INDEX perdure_limit_member_tell ON perdure_limit_member (tell) WHERE tell = 1`,
      `CREATE TABLE perdure_limit_rate (id INTEGER PRIMARY KEY, tat REAL NOT NULL) STRICT`,
    ],
  },
  {
    version: 2,
    compatible: 1,
    statements: [
      `CREATE TABLE perdure_limit_number (
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
