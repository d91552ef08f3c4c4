import { flowTables, instanceColumnDefinitions, instanceTables, isStartExpression, scheduleTables, taskIndexes, taskTables } from "./table-statements.ts"

/**
 * The tables of a database file, as numbered migrations that only add. The names have a prefix because a user's own tables may live in the same file.
 *
 *   instance  one row for each instance. It changes only with the status, the wake-up time, the owner, or the first unread message.
 *   journal   one row for each turn. `seq` is the order of appending over all instances, so a commit of a thousand interleaved instances
 *             fills the last pages of the table instead of changing a thousand pages. (instance, position) is the fence.
 *   inbox     unread messages. AUTOINCREMENT: a `seq` must never come again although rows are deleted once they are read.
 *   *_chunk   what is too large for one row: UTF-8 in parts of at most 1 MiB
 *   lease     until when each worker's lease holds
 *   offer     what each worker executes: workflows, versions and queues, as JSON. It is apart from the lease, which every claim writes.
 *   slot      (limit key, instance): the slots that instances hold
 *   limit     the numbers of limits, as declared by code and as set instead
 *   unique    keys that at most one instance has
 *   rate      when all starts of a rate limit would have been due if they had been spread evenly
 *   line      one row: the last number given to an instance that queues for a slot. A queue is in the order of these numbers.
 *   schedule  one row for each schedule. It changes with every due time. The input may be long and never changes: it is in schedule_input.
 *   task      one row for each task that has not ended, in the order of writing. `seq` may come again after the task has ended; `id` never does.
 *   task_rate    how many tasks of a queue with a rate were claimed in the present period
 *   task_worker  the processes that claim tasks: which queues (null: all) and which activities, as JSON lists, and until when that is true
 *
 * Columns of `instance`:
 *
 *   mail_at, control_at  since when there are unread messages, and unread messages other than events. Only the latter wake a paused or stalled instance.
 *   claimable_at  when the instance must be claimed; null while a worker owns it. A generated column cannot disagree with the columns that it is
 *                 computed from, and with the partial indexes a claim costs the same whatever the number of instances. An instance that queues for a
 *                 slot (`queued_for`) must be claimed for control messages, for its deadline, or when the rate that it waits for allows a start.
 *   priority      most instances have priority 0, so these have an index of their own
 *   lane          the fairness key: the key of the instance's narrowest limit. Fairness keys take turns where room is short.
 *   queue         the task queue; empty for the default queue, so that most rows and index entries store nothing for it
 *   memo          what the instance's code noted about the instance
 *   events        the types of events that the instance's workflow declares, as a JSON list; null: the workflow declares none
 */
export interface Migration {
  readonly version: number
  /** Older code may work on a database with this migration if its own newest migration has at least this version. */
  readonly compatible: number
  readonly statements: readonly string[]
}

export const migrations: readonly Migration[] = [
  {
    version: 1,
    compatible: 1,
    statements: [
      `CREATE TABLE perdure_instance (
        ${instanceColumnDefinitions},
        claimable_at INTEGER GENERATED ALWAYS AS (
          CASE
            WHEN owner IS NOT NULL THEN NULL
            WHEN status IN ('completed', 'failed', 'cancelled', 'terminated') THEN due_at
            WHEN status IN ('paused', 'stalled') THEN min(ifnull(due_at, control_at), ifnull(control_at, due_at))
            WHEN queued_for IS NOT NULL THEN nullif(
              min(ifnull(queued_until, 9007199254740991), ifnull(deadline_at, 9007199254740991), ifnull(control_at, 9007199254740991)),
              9007199254740991
            )
            ELSE min(ifnull(due_at, mail_at), ifnull(mail_at, due_at))
          END
        ) VIRTUAL
      ) STRICT`,
      `CREATE INDEX perdure_instance_claimable ON perdure_instance (workflow, version, queue, ${isStartExpression()}, claimable_at)
        WHERE priority = 0 AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_priority ON perdure_instance (workflow, version, queue, priority, ${isStartExpression()}, claimable_at)
        WHERE priority <> 0 AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_lane ON perdure_instance (workflow, version, queue, priority, ${isStartExpression()}, lane, claimable_at)
        WHERE lane IS NOT NULL AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_queued ON perdure_instance (queued_for, queued_priority DESC, queued_seq) WHERE queued_for IS NOT NULL`,
      `CREATE INDEX perdure_instance_owner ON perdure_instance (owner) WHERE owner IS NOT NULL`,
      `CREATE INDEX perdure_instance_unread ON perdure_instance (owner) WHERE owner IS NOT NULL AND mail_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_created ON perdure_instance (created_at)`,
      `CREATE INDEX perdure_instance_workflow ON perdure_instance (workflow, status, created_at)`,
      `CREATE INDEX perdure_instance_status ON perdure_instance (status, created_at)`,
      `CREATE INDEX perdure_instance_queue ON perdure_instance (queue, status, created_at) WHERE queue <> ''`,
      ...instanceTables.perdure_tag,
      ...instanceTables.perdure_journal,
      ...instanceTables.perdure_journal_chunk,
      ...instanceTables.perdure_inbox,
      `CREATE INDEX perdure_inbox_instance ON perdure_inbox (instance)`,
      `CREATE INDEX perdure_inbox_event ON perdure_inbox (instance, event_id) WHERE event_id IS NOT NULL`,
      ...instanceTables.perdure_inbox_chunk,
      ...instanceTables.perdure_lease,
      ...instanceTables.perdure_offer,
      ...flowTables.perdure_slot,
      ...flowTables.perdure_limit,
      ...flowTables.perdure_unique,
      ...flowTables.perdure_rate,
      `CREATE INDEX perdure_rate_tat ON perdure_rate (tat)`,
      ...flowTables.perdure_line,
      ...scheduleTables.perdure_schedule,
      `CREATE INDEX perdure_schedule_due ON perdure_schedule (due_at) WHERE due_at IS NOT NULL`,
      `CREATE INDEX perdure_schedule_awaits ON perdure_schedule (awaits) WHERE awaits IS NOT NULL`,
      `CREATE INDEX perdure_schedule_workflow ON perdure_schedule (workflow, id)`,
      ...scheduleTables.perdure_schedule_input,
      ...taskTables.perdure_task,
      ...taskIndexes,
      ...taskTables.perdure_task_chunk,
      ...taskTables.perdure_task_rate,
      ...taskTables.perdure_task_worker,
    ],
  },
]
