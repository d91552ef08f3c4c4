import type { ClaimedInstance, ClaimRequest } from "../../../ports/journal-store.ts"
import { slotStateOf, wantsSlots } from "../../shared/slot-admission.ts"
import { inClaimOrder } from "../../shared/claim-order.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { isLive, renewal } from "../schema/claim-functions.ts"
import { integer, list } from "../reads/columns.ts"
import type { Database, PgRow, Queries } from "../connection/database.ts"
import { LockedDueSearch, claimGroupColumns } from "./locked-due-search.ts"
import type { StoredFlowRecord } from "../../shared/flow-rows.ts"
import { type FlowSession, limitedWorkflows } from "../flow-control/flow-session.ts"
import { instanceColumns, toInstanceRow } from "../reads/instance-row.ts"
import type { FlowTransactions } from "../flow-control/flow-transactions.ts"

type Slots = "taken" | "queuedForSlot" | "none"

/** Claims instances: in one round trip, or in a transaction under the locks of flow control if an instance needs slots. Most claims need one round trip. */
export class Claimer {
  readonly #database: Database
  readonly #flow: FlowTransactions
  readonly #search: LockedDueSearch

  constructor(database: Database, flow: FlowTransactions) {
    this.#database = database
    this.#flow = flow
    this.#search = new LockedDueSearch(database)
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedInstance[]> {
    const { worker, offers, limit, startsMin = 0, leaseMs, ids } = request
    const rows = await this.#database.all(
      "claim",
      `SELECT c.undone, c.at, c.has_crashed, ${instanceColumns.replaceAll("i.", "(c.instance).")} FROM ${this.#database.functions.claim}($1, $2, $3, $4, $5, $6, $7, $8) c`,
      toText(worker),
      ...claimGroupColumns(offers),
      limit,
      startsMin,
      leaseMs,
      ids === undefined ? null : ids.map(toText),
    )
    if (rows[0]?.["undone"] === true) return this.#claimUnderLocks(request)
    const ordered = inClaimOrder(
      rows.map((row) => ({
        row,
        key: integer(row, "key"),
        at: integer(row, "at"),
        priority: integer(row, "priority"),
        isStart: row["status"] === "queued",
        offer: "",
        fairnessKey: undefined,
      })),
      startsMin,
    )
    return ordered.map(({ row }) => ({ instance: { ...toInstanceRow(row), owner: worker }, crashed: row["has_crashed"] === true }))
  }

  async #claimUnderLocks({ worker, offers, limit, startsMin = 0, leaseMs, ids }: ClaimRequest): Promise<readonly ClaimedInstance[]> {
    const { schema: s, functions } = this.#database
    const deadNow = async (queries: Queries) =>
      list<string>(await queries.get("dead", `SELECT ${functions.deadOwners}($1, ${functions.nowMs}()) AS dead`, toText(worker)), "dead")
    const concerned = async (queries: Queries) => {
      const dead = await deadNow(queries)
      const ofDead = dead.length === 0 ? [] : await limitedWorkflows(queries, this.#database, dead, null)
      return [...new Set([...ofDead, ...offers.map(({ workflow }) => workflow)])]
    }
    return this.#flow.transaction(concerned, async (session, queries, locked) => {
      // A worker may have renewed its lease while this claim waited for the locks.
      const dead = await deadNow(queries)
      if (dead.length > 0) await this.releaseDead(session, queries, dead, locked)
      const claimed: ClaimedInstance[] = []
      // An instance that was not claimed is queued for a slot, and is not looked at a second time.
      const seen = new Set<number>()
      for (;;) {
        const room = limit - claimed.length
        const admittedBefore = session.admitted.length
        const starts = claimed.filter(({ instance }) => instance.status === "queued").length
        const wanted = { limit: room, startsMin: Math.max(0, startsMin - starts) }
        const rows = await this.#search.find(queries, offers, ids, wanted, session.now)
        const fresh = rows.filter((row) => !seen.has(integer(row, "key")))
        for (const row of fresh) seen.add(integer(row, "key"))
        if (fresh.length > 0) claimed.push(...(await this.#take(session, queries, fresh, worker)))
        const mayBeMore = rows.length === room || session.admitted.length > admittedBefore
        if (!mayBeMore || fresh.length === 0 || claimed.length >= limit) break
      }
      if (claimed.length > 0) await queries.all("lease", renewal(s, "VALUES ($1, $2, $3)"), toText(worker), session.now + leaseMs, session.now)
      return claimed
    })
  }

  /** Releases the instances of dead workers. Instances that sleep or wait release their slots. */
  async releaseDead(session: FlowSession, queries: Queries, dead: readonly string[], locked: ReadonlySet<string>): Promise<void> {
    await this.release(session, queries, dead, true, null, locked)
    const s = this.#database.schema
    await queries.all("end-leases", `DELETE FROM ${s}.lease l WHERE l.worker = ANY ($1::text[]) AND NOT ${isLive("$2::bigint")}`, dead.map(toText), session.now)
  }

  async release(
    session: FlowSession,
    queries: Queries,
    owners: readonly string[],
    crashed: boolean,
    ids: readonly string[] | null,
    locked: ReadonlySet<string>,
  ) {
    const row = await queries.get(
      "release-instances",
      `SELECT ${this.#database.functions.releaseInstances}($1, $2, $3, $4, $5) AS at_rest`,
      owners.map(toText),
      crashed,
      ids === null ? null : ids.map(toText),
      [...locked].map(toText),
      session.now,
    )
    const records = await session.records(list<number>(row, "at_rest"))
    if (records.length > 0) await session.run(records, (admission, own) => records.forEach((record) => admission.releaseSlots(own(record))))
  }

  async #take(session: FlowSession, queries: Queries, rows: readonly PgRow[], worker: string): Promise<ClaimedInstance[]> {
    const s = this.#database.schema
    const limited = await session.records(rows.filter((row) => row["limits"] !== null).map((row) => integer(row, "key")))
    const eventful = await this.#withEvents(queries, limited)
    const ofKey = new Map(limited.map((record) => [record.key, record]))
    const slots = await session.run(limited, (admission, own) => {
      const outcomes = new Map<number, Slots>()
      for (const row of rows) {
        const record = ofKey.get(integer(row, "key"))
        if (record === undefined) continue
        const mine = own(record)
        const before = slotStateOf(mine)
        const wants = () => wantsSlots(record.status, record.dueAt, () => eventful.has(record.key), session.now)
        const mayRun = before === "taken" || (before === "none" && !wants()) || admission.tryAdmit(mine)
        const isWoken = record.controlAt !== undefined || (record.deadlineAt ?? Infinity) <= session.now
        if (mayRun || isWoken) outcomes.set(record.key, slotStateOf(mine))
      }
      return outcomes
    })
    const wanted = rows.filter((row) => row["limits"] === null || slots.has(integer(row, "key")))
    // Another worker may have claimed an instance without limits meanwhile.
    const taken = await queries.all(
      "take",
      `WITH free AS MATERIALIZED (
        SELECT i.key, i.uniques, i.due_at FROM ${s}.instance i WHERE i.key = ANY ($1::bigint[]) AND i.owner IS NULL ORDER BY i.id FOR NO KEY UPDATE
      ), begun AS (
        SELECT ${this.#database.functions.releaseDebounceKeys}(f.uniques, f.key) FROM free f WHERE f.uniques IS NOT NULL AND f.due_at <= $3 AND f.key = ANY ($4::bigint[])
      )
      UPDATE ${s}.instance i SET owner = $2, crashed = false FROM free f WHERE i.key = f.key AND (SELECT count(*) FROM begun) >= 0 RETURNING i.key`,
      wanted.map((row) => integer(row, "key")),
      toText(worker),
      session.now,
      wanted.filter((row) => row["limits"] === null || slots.get(integer(row, "key")) === "taken").map((row) => integer(row, "key")),
    )
    const keys = new Set(taken.map((row) => integer(row, "key")))
    return wanted
      .filter((row) => keys.has(integer(row, "key")))
      .map((row) => {
        const has = slots.get(integer(row, "key"))
        return { instance: { ...toInstanceRow(row), owner: worker, ...(has === undefined ? undefined : { slots: has }) }, crashed: row["crashed"] === true }
      })
  }

  async #withEvents(queries: Queries, records: readonly StoredFlowRecord[]): Promise<ReadonlySet<number>> {
    const atRest = records.filter(({ status }) => status === "sleeping" || status === "waiting").map(({ key }) => key)
    if (atRest.length === 0) return new Set()
    const rows = await queries.all(
      "with-events",
      `SELECT DISTINCT m.instance FROM ${this.#database.schema}.inbox m
      WHERE m.instance = ANY ($1::bigint[]) AND m.kind NOT IN ('pause', 'resume', 'cancel', 'terminate')`,
      atRest,
    )
    return new Set(rows.map((row) => integer(row, "instance")))
  }
}
