import type { Migration } from "../../schema/schema.ts"

/** The table with the schema version of a shard's database. */
export const shardVersions = "perdure_index_meta"

/**
 * The tables of one index shard. A shard has none of the tables of instances, so its schema has a version of its own.
 *
 *   index_entry     the newest copy of each instance: the columns that lists search and sort by, and the whole copy as JSON. `revision` is the
 *                   last journal position that the copy covers.
 *   index_tag       (tag, creation, id)
 *   index_gone      instances that were removed or moved to another shard, and up to which revision: a late update must not bring them back. A row
 *                   is deleted when no update can be under way any more.
 *   index_change    changes of instances, in the order in which the shard received them. AUTOINCREMENT: a number that a reader has passed must
 *                   never come again, although rows of removed instances are deleted.
 *   index_schedule  the newest copy of each schedule
 *   index_task_queue  the names of task queues
 *   index_mark      a random text that tells this shard from a later shard with the same name
 */
export const shardMigrations: readonly Migration[] = [
  {
    version: 1,
    compatible: 1,
    statements: [
      `CREATE TABLE perdure_index_entry (
        id TEXT PRIMARY KEY, incarnation TEXT NOT NULL, revision INTEGER NOT NULL, workflow TEXT NOT NULL, version TEXT NOT NULL,
        status TEXT NOT NULL, queue TEXT NOT NULL, created_at INTEGER NOT NULL, row TEXT NOT NULL
      ) STRICT`,
      `CREATE INDEX perdure_index_entry_created ON perdure_index_entry (created_at, id)`,
      `CREATE INDEX perdure_index_entry_status ON perdure_index_entry (status, created_at, id)`,
      `CREATE INDEX perdure_index_entry_workflow ON perdure_index_entry (workflow, status, created_at, id)`,
      `CREATE INDEX perdure_index_entry_queue ON perdure_index_entry (queue, status, created_at, id) WHERE queue <> ''`,
      `CREATE TABLE perdure_index_tag (tag TEXT NOT NULL, created_at INTEGER NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tag, created_at, id)) STRICT, WITHOUT ROWID`,
      `CREATE TABLE perdure_index_gone (
        id TEXT NOT NULL, incarnation TEXT NOT NULL, revision INTEGER, at INTEGER NOT NULL, PRIMARY KEY (id, incarnation)
      ) STRICT, WITHOUT ROWID`,
      `CREATE INDEX perdure_index_gone_at ON perdure_index_gone (at)`,
      `CREATE TABLE perdure_index_change (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, instance TEXT NOT NULL, incarnation TEXT NOT NULL, position INTEGER NOT NULL, run INTEGER NOT NULL,
        at INTEGER NOT NULL, type TEXT NOT NULL, workflow TEXT NOT NULL, version TEXT NOT NULL, queue TEXT NOT NULL, data TEXT NOT NULL,
        UNIQUE (incarnation, position)
      ) STRICT`,
      `CREATE INDEX perdure_index_change_instance ON perdure_index_change (instance, seq)`,
      `CREATE TABLE perdure_index_schedule (
        id TEXT PRIMARY KEY, incarnation TEXT NOT NULL, revision INTEGER NOT NULL, workflow TEXT NOT NULL, created_at INTEGER NOT NULL, row TEXT NOT NULL
      ) STRICT, WITHOUT ROWID`,
      `CREATE TABLE perdure_index_task_queue (queue TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`,
      `CREATE TABLE perdure_index_mark (mark TEXT NOT NULL) STRICT`,
      `INSERT INTO perdure_index_mark (mark) VALUES (lower(hex(randomblob(6))))`,
    ],
  },
]
