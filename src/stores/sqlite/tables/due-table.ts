import { defaultQueue } from "../../../core/workflow/task-queue.ts"
import type { Offer } from "../../../ports/journal-store.ts"
import type { SqlDriver, SqlRow, SqlStatement } from "../../../ports/sql-driver.ts"
import { inClaimOrder, isOffered, toClaimable } from "../../shared/claim-order.ts"
import { instanceColumns, toQueue } from "./instance-row.ts"
import { toText } from "../../shared/unsafe-text.ts"
import { isStartExpression } from "../schema/table-statements.ts"
import { integer, text } from "../driver/sql-columns.ts"

/** Finds instances that must be claimed. */
export interface DueSearch {
  /** At least the first `limit` rows in claim order. The result itself is in no order. */
  due(offers: readonly Offer[], wanted: Wanted, now: number): SqlRow[]
  dueAmong(ids: readonly string[], offers: readonly Offer[], now: number): SqlRow[]
  nextDueAt(offers: readonly Offer[]): number | undefined
  /** These rows in claim order, each row once. */
  inOrder(rows: readonly SqlRow[], startsMin: number): readonly SqlRow[]
}

/** How many rows a claim takes, and how many new starts of each priority go before instances that have begun. */
export interface Wanted {
  readonly limit: number
  readonly startsMin: number
}

export function rowsInClaimOrder(found: readonly SqlRow[], startsMin: number): readonly SqlRow[] {
  const rows = new Map(found.map((row) => [integer(row, "key"), row]))
  return inClaimOrder([...rows.values()].map(toClaimable), startsMin).map(({ row }) => row)
}

const dueColumns = `${instanceColumns}, i.crashed, i.claimable_at, i.lane`
const offered = `i.workflow = ? AND i.version = ? AND i.queue = ?`
/** Most instances have priority 0, so these have an index of their own. */
const plain = `i.priority = 0`
const prioritised = `i.priority <> 0`
/** The expression of the indexes: 0 for an instance that has begun, 1 for a new start. */
const isStart = isStartExpression("i.")
const kinds = [0, 1] as const
const priorityMax = Number.MAX_SAFE_INTEGER

/** One query searches one workflow, version and task queue. */
type ClaimGroup = readonly [workflow: string, version: string, queue: string]
type Kind = (typeof kinds)[number]

/** Finds due instances in a file. Each query uses an index, so its cost does not depend on the number of instances. */
export class DueTable implements DueSearch {
  readonly #plain: SqlStatement
  readonly #prioritised: SqlStatement
  readonly #byId: SqlStatement
  readonly #nextPriority: SqlStatement
  readonly #nextPlainAt: SqlStatement
  readonly #nextPrioritisedAt: SqlStatement
  readonly #nextFairnessKey: SqlStatement
  readonly #dueOfFairnessKey: SqlStatement
  readonly #nextQueues: readonly SqlStatement[]
  /** By claim group: the fairness key at which the last search of the group ended. */
  readonly #lastFairnessKeys = new Map<string, string>()

  constructor(driver: SqlDriver) {
    const due = (where: string) => `SELECT ${dueColumns} FROM perdure_instance i WHERE ${where}`
    const inOrder = `ORDER BY i.claimable_at, i.key LIMIT ?`
    this.#plain = driver.prepare(due(`${offered} AND ${plain} AND ${isStart} = ? AND i.claimable_at <= ? ${inOrder}`))
    this.#prioritised = driver.prepare(due(`${offered} AND i.priority = ? AND ${prioritised} AND ${isStart} = ? AND i.claimable_at <= ? ${inOrder}`))
    this.#byId = driver.prepare(due(`i.id = ? AND i.claimable_at <= ?`))
    this.#nextPriority = driver.prepare(
      `SELECT i.priority FROM perdure_instance i
      WHERE ${offered} AND i.priority < ? AND ${prioritised} AND i.claimable_at IS NOT NULL ORDER BY i.priority DESC LIMIT 1`,
    )
    const nextAt = (where: string) =>
      driver.prepare(
        `SELECT i.claimable_at FROM perdure_instance i WHERE ${offered} AND ${where} AND ${isStart} = ? AND i.claimable_at IS NOT NULL ORDER BY i.claimable_at LIMIT 1`,
      )
    this.#nextPlainAt = nextAt(plain)
    this.#nextPrioritisedAt = nextAt(`i.priority = ? AND ${prioritised}`)
    const ofFairnessKey = `${offered} AND i.priority = ? AND ${isStart} = ? AND i.lane`
    this.#nextFairnessKey = driver.prepare(
      `SELECT i.lane FROM perdure_instance i WHERE ${ofFairnessKey} > ? AND i.claimable_at IS NOT NULL ORDER BY i.lane LIMIT 1`,
    )
    this.#dueOfFairnessKey = driver.prepare(due(`${ofFairnessKey} = ? AND i.claimable_at <= ? ${inOrder}`))
    this.#nextQueues = [plain, prioritised].map((which) =>
      driver.prepare(
        `SELECT i.queue FROM perdure_instance i
        WHERE i.workflow = ? AND i.version = ? AND i.queue > ? AND ${which} AND i.claimable_at IS NOT NULL ORDER BY i.queue LIMIT 1`,
      ),
    )
  }

  due(offers: readonly Offer[], wanted: Wanted, now: number): SqlRow[] {
    return this.#claimGroups(offers).flatMap((group) => this.#dueInGroup(group, wanted, now))
  }

  dueAmong(ids: readonly string[], offers: readonly Offer[], now: number): SqlRow[] {
    const rows = ids.flatMap((id) => this.#byId.all(toText(id), now))
    return rows.filter((row) => isRowOffered(row, offers))
  }

  nextDueAt(offers: readonly Offer[]): number | undefined {
    let next = Infinity
    for (const group of this.#claimGroups(offers)) {
      const priorities = this.#priorities(group)
      const rows = kinds.flatMap((kind) => [
        this.#nextPlainAt.get(...group, kind),
        ...priorities.map((priority) => this.#nextPrioritisedAt.get(...group, priority, kind)),
      ])
      for (const row of rows) if (row !== undefined) next = Math.min(next, integer(row, "claimable_at"))
    }
    return next === Infinity ? undefined : next
  }

  inOrder(rows: readonly SqlRow[], startsMin: number): readonly SqlRow[] {
    return rowsInClaimOrder(rows, startsMin)
  }

  /** For a worker that serves all task queues, only the queues in which an instance waits. */
  #claimGroups(offers: readonly Offer[]): ClaimGroup[] {
    return offers.flatMap(({ workflow, version, queues }) => {
      const offer = [toText(workflow), toText(version)] as const
      return (queues?.map((queue) => toQueue(queue)) ?? this.#queues(offer)).map((queue): ClaimGroup => [...offer, queue])
    })
  }

  #queues(offer: readonly [string, string]): string[] {
    const queues = new Set([""])
    for (const next of this.#nextQueues) {
      for (let row = next.get(...offer, ""); row !== undefined;) {
        const queue = toQueue(text(row, "queue"))
        queues.add(queue)
        row = next.get(...offer, queue)
      }
    }
    return [...queues]
  }

  #dueInGroup(group: ClaimGroup, { limit, startsMin }: Wanted, now: number): SqlRow[] {
    const rows: SqlRow[] = []
    const priorities = this.#priorities(group)
    for (const priority of [...priorities.filter((one) => one > 0), 0, ...priorities.filter((one) => one < 0)]) {
      const room = limit - rows.length
      if (room <= 0) break
      const begun = this.#dueOfKind(group, priority, 0, room, now)
      const starts = this.#dueOfKind(group, priority, 1, Math.min(room, Math.max(room - begun.length, startsMin)), now)
      rows.push(...begun, ...starts)
    }
    return rows
  }

  #dueOfKind(group: ClaimGroup, priority: number, kind: Kind, room: number, now: number): SqlRow[] {
    if (room === 0) return []
    const found = priority === 0 ? this.#plain.all(...group, kind, now, room) : this.#prioritised.all(...group, priority, kind, now, room)
    // There may be more rows than room. Then rows of other fairness keys must be among the candidates, too.
    if (found.length === room && found.some((row) => row["lane"] !== null)) found.push(...this.#dueByFairnessKey(group, priority, kind, room, now))
    return found
  }

  #priorities(group: ClaimGroup): number[] {
    const priorities: number[] = []
    for (let row = this.#nextPriority.get(...group, priorityMax); row !== undefined;) {
      const priority = integer(row, "priority")
      priorities.push(priority)
      row = this.#nextPriority.get(...group, priority)
    }
    return priorities
  }

  /** Some rows of each fairness key, for as many keys as there is room for. The next search begins after the last key of this one. */
  #dueByFairnessKey(group: ClaimGroup, priority: number, kind: Kind, room: number, now: number): SqlRow[] {
    const name = `${group.join("/")} ${priority} ${kind}`
    const start = this.#lastFairnessKeys.get(name) ?? ""
    const fairnessKeys: string[] = []
    for (let after = start, isRound = false; fairnessKeys.length < room;) {
      const row = this.#nextFairnessKey.get(...group, priority, kind, after)
      if (row === undefined && isRound) break
      if (row === undefined) isRound = true
      after = row === undefined ? "" : text(row, "lane")
      if (row !== undefined && isRound && after > start) break
      if (row !== undefined) fairnessKeys.push(after)
    }
    this.#lastFairnessKeys.set(name, fairnessKeys.at(-1) ?? "")
    const share = Math.ceil(room / Math.max(1, fairnessKeys.length))
    return fairnessKeys.flatMap((lane) => this.#dueOfFairnessKey.all(...group, priority, kind, toText(lane), now, share))
  }
}

export function isRowOffered(row: SqlRow, offers: readonly Offer[]): boolean {
  const instance = { workflow: text(row, "workflow"), version: text(row, "version"), queue: text(row, "queue") || defaultQueue }
  return offers.some((offer) => isOffered(instance, offer))
}
