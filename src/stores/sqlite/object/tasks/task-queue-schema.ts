import type { Migration } from "../../schema/schema.ts"
import { taskIndexes, taskTables } from "../../schema/table-statements.ts"
import { OutboxTable } from "../outbox-table.ts"

/**
 * The tables of one task queue, which has a database of its own: the tables of tasks and the outbox are those of other databases. Besides:
 *
 *   instance           the instances that have tasks here
 *   task_sender        by sender (the object of an instance): the last order that the queue has received, and when. Forgotten after a while.
 *   task_queue         one row: the name under which the objects of instances count the messages of this object, and the index shard that lists the queue
 */
export const taskQueueMigrations: readonly Migration[] = [
  {
    version: 1,
    compatible: 1,
    statements: [
      ...taskTables.perdure_task,
      ...taskIndexes,
      ...taskTables.perdure_task_chunk,
      ...taskTables.perdure_task_rate,
      ...taskTables.perdure_task_worker,
      ...Object.values(OutboxTable.definitions).flat(),
      `CREATE TABLE perdure_instance (key INTEGER PRIMARY KEY, id TEXT NOT NULL, incarnation TEXT NOT NULL, UNIQUE (id, incarnation)) STRICT`,
      `CREATE TABLE perdure_task_sender (sender TEXT PRIMARY KEY, seq INTEGER NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
      `CREATE INDEX perdure_task_sender_at ON perdure_task_sender (at)`,
      `CREATE TABLE perdure_task_queue (id INTEGER PRIMARY KEY, sender_id TEXT NOT NULL, shard TEXT) STRICT`,
      `INSERT INTO perdure_task_queue (id, sender_id) VALUES (1, lower(hex(randomblob(12))))`,
    ],
  },
]
