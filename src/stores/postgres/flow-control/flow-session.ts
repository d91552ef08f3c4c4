import type { LimitUse } from "../../../ports/flow-control.ts"
import { Admission } from "../../shared/slot-admission.ts"
import type { LimitNumbers } from "../../shared/flow-rows.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { integer, list, optionalInteger, text } from "../reads/columns.ts"
import type { DatabaseNames, PgRow, Queries } from "../connection/database.ts"
import { FlowReadCache, type FlowReading, type ReadKey, NotLoaded, type Want } from "./flow-read-cache.ts"
import { type StoredFlowRecord, recordColumns, toRecord } from "../../shared/flow-rows.ts"

/**
 * Flow control within one transaction, under a lock on each workflow concerned. Meanwhile no other transaction changes the slots and queues of these workflows,
 * or the status and owner of their instances with limits. These locks are taken in one order, before any row is locked.
 */
export class FlowSession {
  readonly now: number
  /** Ids of instances that the transaction has admitted, or given a time. */
  readonly admitted: string[] = []
  readonly #queries: Queries
  readonly #schema: string
  readonly #reading: FlowReading

  private constructor(queries: Queries, schema: string, now: number, numbers: Map<string, LimitNumbers>) {
    this.#queries = queries
    this.#schema = schema
    this.now = now
    this.#reading = { now, keys: new Map(), numbers, seq: undefined }
  }

  static async begin(queries: Queries, database: DatabaseNames, workflows: readonly string[]): Promise<FlowSession> {
    const rows = await queries.all(
      "flow-lock",
      `SELECT * FROM ${database.functions.lockFlowControl}($1, $2) l`,
      [...new Set(workflows)].map(toText),
      database.schema,
    )
    const numbers = new Map<string, LimitNumbers>()
    for (const row of rows) if (row["name"] !== null) numbers.set(`${text(row, "workflow")}/${text(row, "name")}`, setNumbers(row) ?? declaredNumbers(row))
    return new FlowSession(queries, database.schema, integer(rows[0] ?? {}, "now"), numbers)
  }

  /** The numbers in force: as set by an operator, else as declared, else as at the instance's start. */
  numbers(use: LimitUse): LimitNumbers {
    return this.#reading.numbers.get(`${use.workflow}/${use.name}`) ?? use
  }

  async records(keys: readonly number[]): Promise<StoredFlowRecord[]> {
    if (keys.length === 0) return []
    const rows = await this.#queries.all(
      "flow-records",
      `SELECT ${recordColumns} FROM ${this.#schema}.instance i WHERE i.key = ANY ($1::bigint[]) AND i.limits IS NOT NULL`,
      keys,
    )
    return rows.map(toRecord)
  }

  /** The records of those of these instances that have limits. */
  async recordsOf(ids: readonly string[]): Promise<StoredFlowRecord[]> {
    if (ids.length === 0) return []
    const rows = await this.#queries.all(
      "flow-records-of",
      `SELECT ${recordColumns} FROM ${this.#schema}.instance i WHERE i.id = ANY ($1::text[]) AND i.limits IS NOT NULL`,
      ids.map(toText),
    )
    return rows.map(toRecord)
  }

  /** Runs the algorithm and writes its changes. `fn` may be called several times; only the changes of the last call are written. */
  async run<T>(
    concerned: readonly StoredFlowRecord[],
    fn: (admission: Admission<StoredFlowRecord>, recordFor: (record: StoredFlowRecord) => StoredFlowRecord) => T,
  ): Promise<T> {
    await this.#read(new Set(concerned.flatMap(({ uses }) => uses.map(({ key }) => key)).filter((key) => !this.#reading.keys.has(key))), 8)
    for (;;) {
      const cache = new FlowReadCache(this.#reading)
      try {
        const result = fn(new Admission(cache), (record) => cache.recordFor(record))
        await this.#write(cache)
        return result
      } catch (error) {
        if (!(error instanceof NotLoaded)) throw error
        await this.#fetch(error.want)
      }
    }
  }

  async #fetch(want: Want): Promise<void> {
    if ("limitKey" in want) return this.#read(new Set([want.limitKey]), want.queuedMax)
    const row = await this.#queries.get("flow-seq", `SELECT nextval('${this.#schema}.line_seq') AS seq`)
    this.#reading.seq = integer(row ?? {}, "seq")
  }

  async #read(limitKeys: ReadonlySet<string>, queuedMax: number): Promise<void> {
    if (limitKeys.size === 0) return
    const s = this.#schema
    const keys = [...limitKeys].map(toText)
    const states = await this.#queries.all(
      "flow-keys",
      `SELECT k.key AS limit_key, u.used, r.tat, (SELECT row_to_json(h) FROM (SELECT ${recordColumns} FROM ${s}.instance i WHERE i.key = u.holder) h) AS holder, (
        SELECT json_agg(l ORDER BY l.queued_priority DESC, l.queued_seq) FROM (
          SELECT ${recordColumns} FROM ${s}.instance i WHERE i.queued_for = k.key ORDER BY i.queued_priority DESC, i.queued_seq LIMIT $2
        ) l
      ) AS line
      FROM unnest($1::text[]) AS k (key)
      CROSS JOIN LATERAL (SELECT count(*) AS used, min(s.instance) AS holder FROM ${s}.slot s WHERE s.limit_key = k.key) u
      LEFT JOIN ${s}.rate r ON r.limit_key = k.key`,
      keys,
      queuedMax,
    )
    for (const row of states) {
      const queue = ((row["line"] ?? []) as PgRow[]).map(toRecord)
      const read: ReadKey = {
        used: integer(row, "used"),
        holder: row["holder"] === null ? undefined : toRecord(row["holder"] as PgRow),
        tat: optionalInteger(row, "tat"),
        queue,
        isWholeQueue: queue.length < queuedMax,
      }
      this.#reading.keys.set(text(row, "limit_key"), read)
    }
  }

  async #write(cache: FlowReadCache): Promise<void> {
    const s = this.#schema
    this.admitted.push(...cache.admitted)
    this.#reading.seq = undefined
    this.#reading.keys.clear()
    if (cache.tats.size > 0) {
      // An expired rate has no effect. Each write deletes up to four, so that they become fewer.
      await this.#queries.all(
        "flow-rates",
        `WITH gone AS (
          DELETE FROM ${s}.rate r WHERE r.limit_key IN (SELECT o.limit_key FROM ${s}.rate o WHERE o.tat <= $3 AND o.limit_key <> ALL ($1) LIMIT 4 FOR UPDATE SKIP LOCKED)
        )
        INSERT INTO ${s}.rate (limit_key, tat) SELECT * FROM unnest($1::text[], $2::float8[]) ON CONFLICT (limit_key) DO UPDATE SET tat = excluded.tat`,
        [...cache.tats.keys()].map(toText),
        [...cache.tats.values()],
        this.now,
      )
    }
    await this.#save(cache)
  }

  async #save({ saved, dueNow, released, taken }: FlowReadCache): Promise<void> {
    const records = [...new Set([...saved, ...dueNow])]
    const [freed, held] = [slotColumns(released), slotColumns(taken)]
    if (records.length === 0 && freed[0].length === 0 && held[0].length === 0) return
    const ifQueued = <T>(pick: (record: StoredFlowRecord) => T) => records.map((record) => (record.queuedFor === undefined ? null : (pick(record) ?? null)))
    await this.#queries.all(
      "flow-save",
      `WITH given AS (
        SELECT * FROM unnest($1::bigint[], $2::int[], $3::boolean[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::boolean[])
          AS g (key, held, paid, queued_for, queued_priority, queued_seq, queued_until, is_due)
      ), locked AS MATERIALIZED (
        SELECT i.key FROM ${this.#schema}.instance i WHERE i.key = ANY ($1::bigint[]) ORDER BY i.id FOR NO KEY UPDATE
      ), free AS (
        DELETE FROM ${this.#schema}.slot s USING unnest($10::text[], $11::bigint[]) AS f (limit_key, instance)
        WHERE s.limit_key = f.limit_key AND s.instance = f.instance
      ), held AS (
        INSERT INTO ${this.#schema}.slot (limit_key, instance) SELECT * FROM unnest($12::text[], $13::bigint[]) ON CONFLICT DO NOTHING
      )
      UPDATE ${this.#schema}.instance i SET held = g.held, paid = g.paid, queued_for = g.queued_for, queued_priority = g.queued_priority,
        queued_seq = g.queued_seq, queued_until = g.queued_until, due_at = CASE WHEN g.is_due THEN $9 ELSE i.due_at END
      FROM given g JOIN locked l ON l.key = g.key WHERE i.key = g.key`,
      records.map(({ key }) => key),
      records.map(({ limitsHeld: held }) => held),
      records.map(({ isStartCounted: isPaid }) => isPaid),
      ifQueued(({ queuedFor }) => queuedFor && toText(queuedFor)),
      ifQueued(({ queuedPriority }) => queuedPriority),
      ifQueued(({ queuedSeq }) => queuedSeq),
      ifQueued(({ queuedUntil }) => queuedUntil),
      records.map((record) => dueNow.has(record)),
      this.now,
      ...freed,
      ...held,
    )
  }
}

function slotColumns(slots: ReadonlyMap<string, ReadonlySet<number>>): readonly [string[], number[]] {
  const pairs = [...slots].flatMap(([limitKey, keys]) => Array.from(keys, (key) => [toText(limitKey), key] as const))
  return [pairs.map(([limitKey]) => limitKey), pairs.map(([, key]) => key)]
}

export function declaredNumbers(row: PgRow): LimitNumbers {
  const perMs = optionalInteger(row, "per_ms")
  return { max: integer(row, "max"), ...(perMs === undefined ? {} : { perMs }) }
}

export function setNumbers(row: PgRow): LimitNumbers | undefined {
  const max = optionalInteger(row, "set_max")
  const perMs = optionalInteger(row, "set_per_ms")
  return max === undefined ? undefined : { max, ...(perMs === undefined ? {} : { perMs }) }
}

/** The workflows of the instances with limits that these owners have. */
export async function limitedWorkflows(
  queries: Queries,
  { functions }: DatabaseNames,
  owners: readonly string[],
  ids: readonly string[] | null,
): Promise<readonly string[]> {
  const row = await queries.get(
    "limited",
    `SELECT ${functions.limitedWorkflows}($1, $2) AS workflows`,
    owners.map(toText),
    ids === null ? null : ids.map(toText),
  )
  return list<string>(row, "workflows")
}
