import { defaultQueue } from "../../../core/workflow/task-queue.ts"
import type { Offer } from "../../../ports/journal-store.ts"
import { inClaimOrder, isOffered, toClaimable } from "../../shared/claim-order.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { isStartExpression } from "../schema/claim-functions.ts"
import { integer, text } from "../reads/columns.ts"
import type { DatabaseNames, PgRow, Queries } from "../connection/database.ts"
import { instanceColumns, toQueue } from "../reads/instance-row.ts"

const dueColumns = `${instanceColumns}, i.crashed, i.claimable_at, i.lane`

/** What is looked for at a time. */
type ClaimGroup = readonly [workflow: string, version: string, queue: string, priority: number]

/** The same as in the index: 0 for instances that have begun, 1 for new starts. */
type Kind = 0 | 1
const isStart = isStartExpression("i.")

/** How many rows a claim takes, and how many new starts go first among those of one priority. */
interface Wanted {
  readonly limit: number
  readonly startsMin: number
}

/** Offers as the functions take them: one row for each queue, or one for all. */
export function claimGroupColumns(offers: readonly Offer[]): [string[], string[], (string | null)[]] {
  const lots = offers.flatMap(({ workflow, version, queues }) =>
    (queues?.map(toQueue) ?? [null]).map((queue) => [toText(workflow), toText(version), queue] as const),
  )
  return [lots.map(([workflow]) => workflow), lots.map(([, version]) => version), lots.map(([, , queue]) => queue)]
}

/** Finds what wants to be claimed, with and without limits, where lanes take turns. Each look goes by an index, whatever the number of instances. */
export class LockedDueSearch {
  readonly #schema: string
  readonly #database: DatabaseNames
  /** Where the last look at the lanes of an offer ended. */
  readonly #lastLanes = new Map<string, string>()

  constructor(database: DatabaseNames) {
    this.#database = database
    this.#schema = database.schema
  }

  /** Rows that may be claimed now, in the order in which they are. They are locked; one that another has locked is passed over, as all would wait with us. */
  async find(queries: Queries, offers: readonly Offer[], ids: readonly string[] | undefined, wanted: Wanted, now: number): Promise<PgRow[]> {
    const found = ids === undefined ? await this.#ofOffers(queries, offers, wanted, now) : await this.#among(queries, ids, offers, now)
    const rows = new Map(found.map((row) => [integer(row, "key"), row]))
    return inClaimOrder([...rows.values()].map(toClaimable), wanted.startsMin)
      .slice(0, wanted.limit)
      .map(({ row }) => row)
  }

  async #among(queries: Queries, ids: readonly string[], offers: readonly Offer[], now: number): Promise<PgRow[]> {
    const rows = await queries.all(
      "due-ids",
      `SELECT ${dueColumns} FROM ${this.#schema}.instance i WHERE i.id = ANY ($1::text[]) AND i.claimable_at <= $2 FOR NO KEY UPDATE SKIP LOCKED`,
      ids.map(toText),
      now,
    )
    return rows.filter((row) => {
      const instance = { workflow: text(row, "workflow"), version: text(row, "version"), queue: text(row, "queue") || defaultQueue }
      return offers.some((offer) => isOffered(instance, offer))
    })
  }

  async #ofOffers(queries: Queries, offers: readonly Offer[], { limit, startsMin }: Wanted, now: number): Promise<PgRow[]> {
    const found = await queries.all(
      "lots",
      `SELECT * FROM ${this.#database.functions.claimGroups}($1, $2, $3) l ORDER BY l.priority DESC`,
      ...claimGroupColumns(offers),
    )
    const rows: PgRow[] = []
    const full = new Map<string, number>()
    for (const row of found) {
      const lot: ClaimGroup = [String(row["workflow"]), String(row["version"]), String(row["queue"]), integer(row, "priority")]
      const name = JSON.stringify(lot.slice(0, 3))
      const room = limit - (full.get(name) ?? 0)
      if (room <= 0) continue
      const begun = await this.#ofLot(queries, lot, 0, room, now)
      const starts = await this.#ofLot(queries, lot, 1, Math.min(room, Math.max(room - begun.length, startsMin)), now)
      full.set(name, limit - room + begun.length + starts.length)
      rows.push(...begun, ...starts)
    }
    return rows
  }

  async #ofLot(queries: Queries, lot: ClaimGroup, kind: Kind, room: number, now: number): Promise<PgRow[]> {
    if (room <= 0) return []
    const rows = await queries.all(
      "due",
      `SELECT ${dueColumns} FROM ${this.#schema}.instance i
      WHERE i.workflow = $1 AND i.version = $2 AND i.queue = $3 AND i.priority = $4 AND ${isStart} = $5 AND i.claimable_at <= $6
      ORDER BY i.claimable_at, i.key LIMIT $7 FOR NO KEY UPDATE SKIP LOCKED`,
      ...lot,
      kind,
      now,
      room,
    )
    // There may be more than room: then those of other lanes are to be among the first, too.
    if (rows.length === room && rows.some((row) => row["lane"] !== null)) rows.push(...(await this.#ofLanes(queries, lot, kind, room, now)))
    return rows
  }

  /** Some of each lane, of as many lanes as there is room for; next time from the lane on that comes then. */
  async #ofLanes(queries: Queries, lot: ClaimGroup, kind: Kind, room: number, now: number): Promise<PgRow[]> {
    const name = JSON.stringify([...lot, kind])
    const start = this.#lastLanes.get(name) ?? ""
    const after = await this.#lanes(queries, lot, kind, start, null, room)
    const lanes = after.length < room && start !== "" ? [...after, ...(await this.#lanes(queries, lot, kind, "", start, room - after.length))] : after
    this.#lastLanes.set(name, lanes.at(-1) ?? "")
    if (lanes.length === 0) return []
    const share = Math.ceil(room / lanes.length)
    return queries.all(
      "due-of-lanes",
      `SELECT d.* FROM unnest($6::text[]) AS l (lane) CROSS JOIN LATERAL (
        SELECT ${dueColumns} FROM ${this.#schema}.instance i
        WHERE i.workflow = $1 AND i.version = $2 AND i.queue = $3 AND i.priority = $4 AND ${isStart} = $5 AND i.lane = l.lane AND i.claimable_at <= $7
        ORDER BY i.claimable_at, i.key LIMIT $8 FOR NO KEY UPDATE SKIP LOCKED
      ) d`,
      ...lot,
      kind,
      lanes,
      now,
      share,
    )
  }

  /** Behind the one, and up to the other where there is one. */
  async #lanes(queries: Queries, lot: ClaimGroup, kind: Kind, after: string, to: string | null, most: number): Promise<string[]> {
    const next = (than: string) => `(SELECT i.lane FROM ${this.#schema}.instance i
      WHERE i.workflow = $1 AND i.version = $2 AND i.queue = $3 AND i.priority = $4 AND ${isStart} = $5 AND i.lane > ${than} AND ($7::text IS NULL OR i.lane <= $7) AND i.claimable_at IS NOT NULL
      ORDER BY i.lane LIMIT 1)`
    const rows = await queries.all(
      "lanes",
      `WITH RECURSIVE l AS (SELECT ${next("$6")} AS lane UNION ALL SELECT ${next("l.lane")} FROM l WHERE l.lane IS NOT NULL)
      SELECT l.lane FROM l WHERE l.lane IS NOT NULL LIMIT $8`,
      ...lot,
      kind,
      after,
      to,
      most,
    )
    return rows.map((row) => String(row["lane"]))
  }
}
