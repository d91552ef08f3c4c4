import type { Offer } from "../../ports/journal-store.ts"
import { type Claimable, inClaimOrder } from "../claim-order.ts"
import { toText } from "../odd-text.ts"
import { integer, optionalText, text } from "./columns.ts"
import type { PgRow, Queries } from "./database.ts"
import { instanceColumns } from "./instance-row.ts"

const dueColumns = `${instanceColumns}, i.crashed, i.claimable_at, i.lane`

/** Finds what wants to be claimed, with and without limits, where lanes take turns. Each look goes by an index, whatever the number of instances. */
export class DueSearch {
  readonly #schema: string
  /** Where the last look at the lanes of an offer ended. */
  readonly #lastLanes = new Map<string, string>()

  constructor(schema: string) {
    this.#schema = schema
  }

  /** Rows that may be claimed now, in the order in which they are. Nothing is locked. */
  async find(queries: Queries, offers: readonly Offer[], ids: readonly string[] | undefined, limit: number, now: number): Promise<PgRow[]> {
    const found = ids === undefined ? await this.#ofOffers(queries, offers, limit, now) : await this.#among(queries, ids, offers, now)
    const rows = new Map(found.map((row) => [integer(row, "key"), row]))
    return inClaimOrder([...rows.values()].map(claimable))
      .slice(0, limit)
      .map(({ row }) => row)
  }

  async #among(queries: Queries, ids: readonly string[], offers: readonly Offer[], now: number): Promise<PgRow[]> {
    const rows = await queries.all(
      "due-ids",
      `SELECT ${dueColumns} FROM ${this.#schema}.instance i WHERE i.id = ANY ($1::text[]) AND i.claimable_at <= $2`,
      ids.map(toText),
      now,
    )
    return rows.filter((row) => offers.some((offer) => offer.workflow === text(row, "workflow") && offer.version === text(row, "version")))
  }

  async #ofOffers(queries: Queries, offers: readonly Offer[], limit: number, now: number): Promise<PgRow[]> {
    const rows: PgRow[] = []
    for (const { workflow, version } of offers) rows.push(...(await this.#ofOffer(queries, [toText(workflow), toText(version)], limit, now)))
    return rows
  }

  async #ofOffer(queries: Queries, offer: readonly [string, string], limit: number, now: number): Promise<PgRow[]> {
    const rows: PgRow[] = []
    const priorities = await queries.all("priorities", `SELECT p AS priority FROM ${this.#schema}.priorities($1, $2) p`, ...offer)
    for (const row of priorities) {
      const priority = integer(row, "priority")
      const room = limit - rows.length
      if (room <= 0) break
      const found = await queries.all(
        "due",
        `SELECT ${dueColumns} FROM ${this.#schema}.instance i
        WHERE i.workflow = $1 AND i.version = $2 AND i.priority = $3 AND i.claimable_at <= $4 ORDER BY i.claimable_at, i.key LIMIT $5`,
        ...offer,
        priority,
        now,
        room,
      )
      rows.push(...found)
      // There may be more than room: then those of other lanes are to be among the first, too.
      if (found.length === room && found.some((one) => one["lane"] !== null)) rows.push(...(await this.#ofLanes(queries, offer, priority, room, now)))
    }
    return rows
  }

  /** Some of each lane, of as many lanes as there is room for; next time from the lane on that comes then. */
  async #ofLanes(queries: Queries, offer: readonly [string, string], priority: number, room: number, now: number): Promise<PgRow[]> {
    const name = `${offer.join("/")} ${priority}`
    const start = this.#lastLanes.get(name) ?? ""
    const after = await this.#lanes(queries, offer, priority, start, null, room)
    const lanes = after.length < room && start !== "" ? [...after, ...(await this.#lanes(queries, offer, priority, "", start, room - after.length))] : after
    this.#lastLanes.set(name, lanes.at(-1) ?? "")
    if (lanes.length === 0) return []
    const share = Math.ceil(room / lanes.length)
    return queries.all(
      "due-of-lanes",
      `SELECT d.* FROM unnest($4::text[]) AS l (lane) CROSS JOIN LATERAL (
        SELECT ${dueColumns} FROM ${this.#schema}.instance i
        WHERE i.workflow = $1 AND i.version = $2 AND i.priority = $3 AND i.lane = l.lane AND i.claimable_at <= $5 ORDER BY i.claimable_at, i.key LIMIT $6
      ) d`,
      ...offer,
      priority,
      lanes,
      now,
      share,
    )
  }

  /** Behind the one, and up to the other where there is one. */
  async #lanes(queries: Queries, offer: readonly [string, string], priority: number, after: string, to: string | null, most: number): Promise<string[]> {
    const next = (than: string) => `(SELECT i.lane FROM ${this.#schema}.instance i
      WHERE i.workflow = $1 AND i.version = $2 AND i.priority = $3 AND i.lane > ${than} AND ($5::text IS NULL OR i.lane <= $5) AND i.claimable_at IS NOT NULL
      ORDER BY i.lane LIMIT 1)`
    const rows = await queries.all(
      "lanes",
      `WITH RECURSIVE l AS (SELECT ${next("$4")} AS lane UNION ALL SELECT ${next("l.lane")} FROM l WHERE l.lane IS NOT NULL)
      SELECT l.lane FROM l WHERE l.lane IS NOT NULL LIMIT $6`,
      ...offer,
      priority,
      after,
      to,
      most,
    )
    return rows.map((row) => String(row["lane"]))
  }
}

function claimable(row: PgRow): Claimable & { readonly row: PgRow } {
  return {
    row,
    key: integer(row, "key"),
    at: integer(row, "claimable_at"),
    priority: integer(row, "priority"),
    offer: `${text(row, "workflow")}/${text(row, "version")}`,
    lane: optionalText(row, "lane"),
  }
}
