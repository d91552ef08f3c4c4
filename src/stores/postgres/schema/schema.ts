import { batchFunctions, changeInstancesFunction, createInstancesFunction, takeMessagesFunction, writeTurnsFunction } from "./batch-functions.ts"
import {
  claimFunctions,
  claimFunction,
  claimInOrderFunction,
  deadOwnersFunction,
  disownFunction,
  isStartExpression,
  limitedWorkflowsFunction,
  lockFlowFunction,
  nextDueFunction,
  removeFunction,
  renewFunction,
  takeFirstFunction,
} from "./claim-functions.ts"
import { newToken } from "../reads/change-stream-token.ts"
import { deliverFunctions, deliverOneFunction, deliverToldFunction, putMessageFunction, remarkFunction } from "./deliver-functions.ts"
import { createLoneFunction, singleTurnFunctions, takeLoneFunction } from "./single-turn-functions.ts"
import { createInstanceFunction, takeUniqueFunction, turnFunctions, writeTurnFunction } from "./turn-functions.ts"
import { readFunctions, readInboxPartFunction } from "./read-functions.ts"
import { setReadFunctions } from "./bulk-read-functions.ts"

/**
 * The tables, as numbered, additive migrations, in a schema of our own. Functions are part of them: code of an older version goes on
 * calling the functions that it knows, so one that must change what it takes or gives gets another name. One that only does the same
 * better is replaced by a further migration.
 *
 *   instance  one row per instance; changes only with status, wake-up, owner, or the first unread message. Its key stands for one
 *             incarnation for ever.
 *   journal   one row per turn; (instance, position) is the fence. `xid` and `seq` are the order of the change stream.
 *   inbox     unread messages; `seq` is given under the lock of the instance's row, and so in the order of acknowledgement
 *   lease     one row per worker: when it ends, and when it was renewed
 *   offer     what each worker executes: workflows, versions and queues, as JSON. Apart from its lease, which every claim writes.
 *   origin    a token that the cursors of this store's changes carry
 *   mail_channel  one secret: only who may read it hears, and sends, messages that go along with the notification of them
 *   slot, limits, unique_key, rate, line_seq: flow control, as the SQLite store has it
 *   schedule  one row per schedule; its input is long, and rarely written
 *
 * Long text needs no chunks: PostgreSQL itself keeps it beside the row, in parts.
 *
 * The three that grow, instance, journal and inbox, may be partitioned by a hash of the instance: its id, or its key.
 *
 * `queue` is the task queue, empty for the default one. `events` holds the types of events that the instance's workflow declares, as a JSON list; null: it
 * declares none. `claimable_at` says when an instance wants to be claimed, and is null while it is owned. As a generated column it cannot go out of step.
 */
export interface Migration {
  readonly version: number
  /** The oldest code that may go on working on a database with this migration: its own highest migration. */
  readonly compatible: number
  /** `partitions`: of each table that grows; 0: none is partitioned. */
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
        parked_on ${text},
        parked_priority bigint,
        parked_seq bigint,
        parked_until bigint,
        deadline_at bigint,
        queue ${text} NOT NULL DEFAULT '',
        memo text,
        claimable_at bigint GENERATED ALWAYS AS (
          CASE
            WHEN owner IS NOT NULL THEN NULL
            WHEN status IN ('completed', 'failed', 'cancelled', 'terminated') THEN due_at
            WHEN status IN ('paused', 'stalled') THEN least(due_at, control_at)
            WHEN parked_on IS NOT NULL THEN least(parked_until, deadline_at, control_at)
            ELSE least(due_at, mail_at)
          END
        ) STORED`,
      ),
      // Across partitions only what holds their key can be unique; the sequence sees to it.
      `CREATE ${partitions === 0 ? "UNIQUE " : ""}INDEX instance_by_key ON ${s}.instance (key)`,
      `CREATE INDEX instance_claimable ON ${s}.instance (workflow, version, queue, priority, claimable_at, key) WHERE claimable_at IS NOT NULL`,
      `CREATE INDEX instance_limited ON ${s}.instance (workflow, version, claimable_at) WHERE limits IS NOT NULL AND claimable_at IS NOT NULL`,
      `CREATE INDEX instance_lane ON ${s}.instance (workflow, version, queue, priority, lane, claimable_at, key)
        WHERE lane IS NOT NULL AND claimable_at IS NOT NULL`,
      `CREATE INDEX instance_parked ON ${s}.instance (parked_on, parked_priority DESC, parked_seq) WHERE parked_on IS NOT NULL`,
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
      `CREATE TABLE ${s}.lease (worker ${text} PRIMARY KEY, until bigint NOT NULL)`,
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
      // Those who park in one transaction share a block of numbers.
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
      clockFunction(s),
      ...deliverFunctions(s),
      ...turnFunctions(s),
      ...batchFunctions(s),
      ...claimFunctions(s),
    ],
  },
  {
    // Some as they are now, for databases that have them as they were.
    version: 2,
    compatible: 1,
    statements: (s) => [claimFunction(s), disownFunction(s), removeFunction(s), takeUniqueFunction(s), ...readFunctions(s)],
  },
  { version: 3, compatible: 1, statements: (s) => [claimFunction(s), lockFlowFunction(s), writeTurnFunction(s)] },
  { version: 4, compatible: 1, statements: (s) => [...singleTurnFunctions(s), ...setReadFunctions(s)] },
  {
    version: 5,
    compatible: 1,
    statements: (s) => [
      limitedWorkflowsFunction(s),
      claimFunction(s),
      takeMessagesFunction(s),
      changeInstancesFunction(s),
      writeTurnsFunction(s, false),
      writeTurnsFunction(s, true),
    ],
  },
  { version: 6, compatible: 1, statements: (s) => [takeLoneFunction(s)] },
  {
    version: 7,
    compatible: 1,
    statements: (s) => [
      `CREATE TABLE ${s}.mail_channel (secret text NOT NULL)`,
      `INSERT INTO ${s}.mail_channel VALUES (gen_random_uuid())`,
      putMessageFunction(s),
      deliverOneFunction(s),
      deliverToldFunction(s),
      takeLoneFunction(s),
    ],
  },
  { version: 8, compatible: 1, statements: (s) => [deliverToldFunction(s), takeLoneFunction(s)] },
  { version: 9, compatible: 1, statements: (s) => [deliverToldFunction(s)] },
  {
    // The indexes of claims tell new starts from instances that have begun, which are claimed first.
    version: 10,
    compatible: 1,
    statements: (s) => [
      `DROP INDEX ${s}.instance_claimable`,
      `DROP INDEX ${s}.instance_lane`,
      `CREATE INDEX instance_claimable ON ${s}.instance (workflow, version, queue, priority, ${isStartExpression()}, claimable_at, key)
        WHERE claimable_at IS NOT NULL`,
      `CREATE INDEX instance_lane ON ${s}.instance (workflow, version, queue, priority, ${isStartExpression()}, lane, claimable_at, key)
        WHERE lane IS NOT NULL AND claimable_at IS NOT NULL`,
      takeFirstFunction(s),
      claimInOrderFunction(s),
      claimFunction(s),
      nextDueFunction(s),
      `CREATE TABLE ${s}.offer (worker ${text} PRIMARY KEY, offers text NOT NULL)`,
      `DROP FUNCTION IF EXISTS ${s}.take_found`,
    ],
  },
  {
    version: 11,
    compatible: 1,
    statements: (s) => [
      `ALTER TABLE ${s}.instance ADD COLUMN events text`,
      createInstanceFunction(s, true),
      createInstancesFunction(s, true),
      createLoneFunction(s, true),
      putMessageFunction(s, true),
      deliverOneFunction(s, true),
      deliverToldFunction(s, true),
    ],
  },
  // An inbox that is long is read in parts, and what is taken out of it is found by its number.
  { version: 12, compatible: 1, statements: (s) => [readInboxPartFunction(s), takeMessagesFunction(s), takeLoneFunction(s), remarkFunction(s)] },
  {
    // Turns name the turn that they follow. Code that does not name it must not write: it could mix two histories. Leases say when they were renewed.
    version: 13,
    compatible: 13,
    statements: (s) => [
      ...unchainedFunctions.map((signature) => `DROP FUNCTION IF EXISTS ${s}.${signature}`),
      writeTurnFunction(s),
      writeTurnsFunction(s, false),
      writeTurnsFunction(s, true),
      ...singleTurnFunctions(s),
      takeLoneFunction(s),
      `ALTER TABLE ${s}.lease ADD COLUMN renewed_at bigint`,
      deadOwnersFunction(s, true),
      renewFunction(s),
      takeFirstFunction(s),
      claimInOrderFunction(s),
    ],
  },
]

const turnArrays = `text[], text[], text[], bigint[], integer[], bigint[], bigint[], text[], text[], text[], bigint[], json[], text, text[], boolean`
const turnColumns = `text, text, text, bigint, integer, bigint, bigint, text`
const stateColumns = `text, text, bigint, text, bigint, bigint, bigint`

/** The functions that wrote turns before turns named what they follow. */
const unchainedFunctions = [
  `write_turn(${turnColumns}, text, jsonb, bigint, bigint, boolean, bigint)`,
  `write_turns(${turnArrays})`,
  `write_fresh_turns(${turnArrays})`,
  `append_lone(${turnColumns})`,
  `change_lone(${turnColumns}, ${stateColumns})`,
  `take_lone(${turnColumns}, ${stateColumns}, bigint[], bigint, boolean)`,
]

/** A table that has a row or more for each instance, in partitions if that is wanted. */
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

/** The clock that decides leases and what is due, for all processes alike. Tests move it by the setting, of their own connections only. */
function clockFunction(s: string): string {
  return `CREATE FUNCTION ${s}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(current_setting('perdure.now_ms', true), '')::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
  $$`
}
