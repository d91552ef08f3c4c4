import { defaultQueue } from "../../../core/workflow/task-queue.ts"
import type { Offer } from "../../../ports/journal-store.ts"
import { inClaimOrder, isOffered, toClaimable } from "../../shared/claim-order.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { isStartExpression } from "../schema/claim-functions.ts"
import { integer, text } from "../reads/columns.ts"
import type { DatabaseNames, PgRow, Queries } from "../connection/database.ts"
import { instanceColumns, toQueue } from "../reads/instance-row.ts"

const dueColumns = `${instanceColumns}, i.crashed, i.claimable_at, i.lane`

/** Instances that one look-up searches. */
type ClaimGroup = readonly [workflow: string, version: string, queue: string, priority: number]

/** As in the index: 0 for instances that have begun, 1 for new starts. */
type Kind = 0 | 1
const isStart = isStartExpression("i.")

/** How many rows a claim takes, and how many new starts go before the other instances of their priority. */
interface ClaimSize {
  readonly limit: number
  readonly startsMin: number
}

/** Offers as the arguments of functions: one row for each queue, or one row for all queues. */
export function claimGroupColumns(offers: readonly Offer[]): [string[], string[], (string | null)[]] {
  const groups = offers.flatMap(({ workflow, version, queues }) =>
    (queues?.map(toQueue) ?? [null]).map((queue) => [toText(workflow), toText(version), queue] as const),
  )
  return [groups.map(([workflow]) => workflow), groups.map(([, version]) => version), groups.map(([, , queue]) => queue)]
}

/**
 * Finds instances to claim, with and without limits. Keys of a fairness limit take turns. Each look-up uses an index, so its cost does not depend on the number
 * of instances. `lane` is the column of the fairness key.
 */
export class LockedDueSearch {
  readonly #schema: string
  readonly #database: DatabaseNames
  /** The fairness key at which the last look-up of a group ended. */
  readonly #lastFairnessKeys = new Map<string, string>()

  constructor(database: DatabaseNames) {
    this.#database = database
    this.#schema = database.schema
  }

  /**
   * Rows that may be claimed now, in the order of claims. The rows are locked. A row that another transaction has locked is skipped, because all workers that
   * need the same locks of flow control would wait with this one.
   */
  async find(queries: Queries, offers: readonly Offer[], ids: readonly string[] | undefined, wanted: ClaimSize, now: number): Promise<PgRow[]> {
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

  async #ofOffers(queries: Queries, offers: readonly Offer[], { limit, startsMin }: ClaimSize, now: number): Promise<PgRow[]> {
    const found = await queries.all(
      "claim-groups",
      `SELECT * FROM ${this.#database.functions.claimGroups}($1, $2, $3) l ORDER BY l.priority DESC`,
      ...claimGroupColumns(offers),
    )
    const rows: PgRow[] = []
    const full = new Map<string, number>()
    for (const row of found) {
      const group: ClaimGroup = [String(row["workflow"]), String(row["version"]), String(row["queue"]), integer(row, "priority")]
      const name = JSON.stringify(group.slice(0, 3))
      const room = limit - (full.get(name) ?? 0)
      if (room <= 0) continue
      const begun = await this.#ofGroup(queries, group, 0, room, now)
      const starts = await this.#ofGroup(queries, group, 1, Math.min(room, Math.max(room - begun.length, startsMin)), now)
      full.set(name, limit - room + begun.length + starts.length)
      rows.push(...begun, ...starts)
    }
    return rows
  }

  async #ofGroup(queries: Queries, group: ClaimGroup, kind: Kind, room: number, now: number): Promise<PgRow[]> {
    if (room <= 0) return []
    const rows = await queries.all(
      "due",
      `SELECT ${dueColumns} FROM ${this.#schema}.instance i
      WHERE i.workflow = $1 AND i.version = $2 AND i.queue = $3 AND i.priority = $4 AND ${isStart} = $5 AND i.claimable_at <= $6
      ORDER BY i.claimable_at, i.key LIMIT $7 FOR NO KEY UPDATE SKIP LOCKED`,
      ...group,
      kind,
      now,
      room,
    )
    // There may be further instances. Instances with other fairness keys are to be among the first, too.
    if (rows.length === room && rows.some((row) => row["lane"] !== null)) rows.push(...(await this.#ofFairnessKeys(queries, group, kind, room, now)))
    return rows
  }

  /** Some instances of each fairness key, for as many keys as there is room for. The next look-up begins behind the last of these keys. */
  async #ofFairnessKeys(queries: Queries, group: ClaimGroup, kind: Kind, room: number, now: number): Promise<PgRow[]> {
    const name = JSON.stringify([...group, kind])
    const start = this.#lastFairnessKeys.get(name) ?? ""
    const after = await this.#fairnessKeys(queries, group, kind, start, null, room)
    const keys = after.length < room && start !== "" ? [...after, ...(await this.#fairnessKeys(queries, group, kind, "", start, room - after.length))] : after
    this.#lastFairnessKeys.set(name, keys.at(-1) ?? "")
    if (keys.length === 0) return []
    const share = Math.ceil(room / keys.length)
    return queries.all(
      "due-of-fairness-keys",
      `SELECT d.* FROM unnest($6::text[]) AS l (lane) CROSS JOIN LATERAL (
        SELECT ${dueColumns} FROM ${this.#schema}.instance i
        WHERE i.workflow = $1 AND i.version = $2 AND i.queue = $3 AND i.priority = $4 AND ${isStart} = $5 AND i.lane = l.lane AND i.claimable_at <= $7
        ORDER BY i.claimable_at, i.key LIMIT $8 FOR NO KEY UPDATE SKIP LOCKED
      ) d`,
      ...group,
      kind,
      keys,
      now,
      share,
    )
  }

  /** Fairness keys behind `after`, and up to `upTo` if it is not null. */
  async #fairnessKeys(queries: Queries, group: ClaimGroup, kind: Kind, after: string, upTo: string | null, max: number): Promise<string[]> {
    const next = (than: string) => `(SELECT i.lane FROM ${this.#schema}.instance i
      WHERE i.workflow = $1 AND i.version = $2 AND i.queue = $3 AND i.priority = $4 AND ${isStart} = $5 AND i.lane > ${than} AND ($7::text IS NULL OR i.lane <= $7) AND i.claimable_at IS NOT NULL
      ORDER BY i.lane LIMIT 1)`
    const rows = await queries.all(
      "fairness-keys",
      `WITH RECURSIVE l AS (SELECT ${next("$6")} AS lane UNION ALL SELECT ${next("l.lane")} FROM l WHERE l.lane IS NOT NULL)
      SELECT l.lane FROM l WHERE l.lane IS NOT NULL LIMIT $8`,
      ...group,
      kind,
      after,
      upTo,
      max,
    )
    return rows.map((row) => String(row["lane"]))
  }
}
