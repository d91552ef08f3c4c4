import { addEvents, claimableAt, flowTables, instanceTables, isStartExpression, scheduleTables } from "./table-statements.ts"

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
 *
 * Flow control came with version 2. `claimable_at` takes the place of `claim_at`: one that is parked on a limit wants to be claimed
 * for control messages, for its deadline, or when the rate it waits for allows it. Instances without a priority keep an index of their
 * own, as it is most of them. `lane` is the key of the narrowest limit: lanes take turns where room is short.
 *   slot      (limit key, instance): how many an instance's limit has given out is how many rows it has
 *   limit     the numbers of limits, as declared by code and as set instead
 *   unique    keys that at most one instance has
 *   rate      when all that was started would have been due, had it been spread evenly
 *   line      the number of the last that was parked: lines are in the order of arrival
 *
 * Version 4: `queue` is the task queue, empty for the default one, so that it costs most rows and indexes next to nothing; who serves only
 * some queues finds what is due there by index. `memo` is what an instance's code noted about it.
 *
 * Version 5: the indexes of claims tell new starts from instances that have begun, which are claimed first.
 *   offer     what each worker executes: workflows, versions and queues, as JSON. Apart from its lease, which every claim writes.
 *
 * Version 6: `events` holds the types of events that the instance's workflow declares, as a JSON list; null: it declares none.
 */
export interface Migration {
  readonly version: number
  /** The oldest code that may go on working on a database with this migration: its own highest migration. */
  readonly compatible: number
  readonly statements: readonly string[]
  /** A database that is made anew has what this migration adds: it is in the statements of the first one. */
  readonly isInFirst?: true
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
      ...instanceTables.perdure_tag,
      ...instanceTables.perdure_journal,
      ...instanceTables.perdure_journal_chunk,
      ...instanceTables.perdure_inbox,
      `CREATE INDEX perdure_inbox_instance ON perdure_inbox (instance)`,
      `CREATE INDEX perdure_inbox_event ON perdure_inbox (instance, event_id) WHERE event_id IS NOT NULL`,
      ...instanceTables.perdure_inbox_chunk,
      ...instanceTables.perdure_lease,
    ],
  },
  {
    version: 2,
    // Code that knows nothing of limits would run what is parked, and never give a slot back.
    compatible: 2,
    statements: [
      `ALTER TABLE perdure_instance ADD COLUMN priority INTEGER NOT NULL DEFAULT 0`,
      `ALTER TABLE perdure_instance ADD COLUMN limits TEXT`,
      `ALTER TABLE perdure_instance ADD COLUMN uniques TEXT`,
      `ALTER TABLE perdure_instance ADD COLUMN lane TEXT`,
      `ALTER TABLE perdure_instance ADD COLUMN held INTEGER NOT NULL DEFAULT 0`,
      `ALTER TABLE perdure_instance ADD COLUMN paid INTEGER NOT NULL DEFAULT 0`,
      `ALTER TABLE perdure_instance ADD COLUMN parked_on TEXT`,
      `ALTER TABLE perdure_instance ADD COLUMN parked_priority INTEGER`,
      `ALTER TABLE perdure_instance ADD COLUMN parked_seq INTEGER`,
      `ALTER TABLE perdure_instance ADD COLUMN parked_until INTEGER`,
      `ALTER TABLE perdure_instance ADD COLUMN deadline_at INTEGER`,
      `ALTER TABLE perdure_instance ADD COLUMN claimable_at ${claimableAt}`,
      `DROP INDEX perdure_instance_claim`,
      `ALTER TABLE perdure_instance DROP COLUMN claim_at`,
      `CREATE INDEX perdure_instance_claimable ON perdure_instance (workflow, version, claimable_at) WHERE priority = 0 AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_priority ON perdure_instance (workflow, version, priority, claimable_at)
        WHERE priority <> 0 AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_lane ON perdure_instance (workflow, version, priority, lane, claimable_at)
        WHERE lane IS NOT NULL AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_parked ON perdure_instance (parked_on, parked_priority DESC, parked_seq) WHERE parked_on IS NOT NULL`,
      ...flowTables.perdure_slot,
      ...flowTables.perdure_limit,
      ...flowTables.perdure_unique,
      ...flowTables.perdure_rate,
      `CREATE INDEX perdure_rate_tat ON perdure_rate (tat)`,
      ...flowTables.perdure_line,
    ],
  },
  {
    version: 3,
    compatible: 2,
    statements: [
      ...scheduleTables.perdure_schedule,
      `CREATE INDEX perdure_schedule_due ON perdure_schedule (due_at) WHERE due_at IS NOT NULL`,
      `CREATE INDEX perdure_schedule_awaits ON perdure_schedule (awaits) WHERE awaits IS NOT NULL`,
      `CREATE INDEX perdure_schedule_workflow ON perdure_schedule (workflow, id)`,
      ...scheduleTables.perdure_schedule_input,
    ],
  },
  {
    version: 4,
    // Code that knows nothing of queues would run what is meant for another worker.
    compatible: 4,
    statements: [
      `ALTER TABLE perdure_instance ADD COLUMN queue TEXT NOT NULL DEFAULT ''`,
      `ALTER TABLE perdure_instance ADD COLUMN memo TEXT`,
      `DROP INDEX perdure_instance_claimable`,
      `DROP INDEX perdure_instance_priority`,
      `DROP INDEX perdure_instance_lane`,
      `CREATE INDEX perdure_instance_claimable ON perdure_instance (workflow, version, queue, claimable_at)
        WHERE priority = 0 AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_priority ON perdure_instance (workflow, version, queue, priority, claimable_at)
        WHERE priority <> 0 AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_lane ON perdure_instance (workflow, version, queue, priority, lane, claimable_at)
        WHERE lane IS NOT NULL AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_queue ON perdure_instance (queue, status, created_at) WHERE queue <> ''`,
    ],
  },
  {
    version: 5,
    // Older code finds what is due by the first columns of these indexes, and says nothing of what it offers.
    compatible: 4,
    statements: [
      `DROP INDEX perdure_instance_claimable`,
      `DROP INDEX perdure_instance_priority`,
      `DROP INDEX perdure_instance_lane`,
      `CREATE INDEX perdure_instance_claimable ON perdure_instance (workflow, version, queue, ${isStartExpression()}, claimable_at)
        WHERE priority = 0 AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_priority ON perdure_instance (workflow, version, queue, priority, ${isStartExpression()}, claimable_at)
        WHERE priority <> 0 AND claimable_at IS NOT NULL`,
      `CREATE INDEX perdure_instance_lane ON perdure_instance (workflow, version, queue, priority, ${isStartExpression()}, lane, claimable_at)
        WHERE lane IS NOT NULL AND claimable_at IS NOT NULL`,
      ...instanceTables.perdure_offer,
    ],
  },
  {
    version: 6,
    // Older code creates instances without a declaration, and delivers whatever is sent.
    compatible: 4,
    statements: [addEvents],
  },
]
