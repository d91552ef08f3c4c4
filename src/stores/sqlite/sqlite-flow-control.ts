import type { FlowControl, FlowTraits, LimitOverride, LimitState, LimitWait, UniqueUse, WorkflowLimits } from "../../ports/flow-control.ts"
import type { SqlDriver, SqlStatement } from "../../ports/sql-driver.ts"
import { holdersNamedMax, limitState, removedLimits, type LimitNumbers } from "../shared/flow-rows.ts"
import { declaredNumbers, setNumbers } from "./tables/flow-table.ts"
import { traitValues } from "./tables/instance-row.ts"
import { toText } from "../shared/unsafe-text.ts"
import { integer, text } from "./driver/sql-columns.ts"
import type { SqliteFlowTransaction } from "./tables/flow-transaction.ts"
import type { FlowTables } from "./sqlite-components.ts"
import type { TurnTable } from "./tables/turn-table.ts"

export class SqliteFlowControl implements FlowControl {
  readonly #flow: SqliteFlowTransaction
  readonly #turns: TurnTable
  readonly #limits: SqlStatement
  readonly #declare: SqlStatement
  readonly #set: SqlStatement
  readonly #nextQueuedKey: SqlStatement
  readonly #find: SqlStatement
  readonly #holders: SqlStatement
  readonly #ahead: SqlStatement
  readonly #queued: SqlStatement
  readonly #assign: SqlStatement

  constructor({ driver, flow, turns }: FlowTables) {
    this.#flow = flow
    this.#turns = turns
    this.#limits = driver.prepare(`SELECT name, max, per_ms, set_max, set_per_ms FROM perdure_limit WHERE workflow = ?`)
    this.#declare = driver.prepare(
      `INSERT INTO perdure_limit (workflow, name, max, per_ms) VALUES (?, ?, ?, ?)
      ON CONFLICT (workflow, name) DO UPDATE SET max = excluded.max, per_ms = excluded.per_ms`,
    )
    this.#set = driver.prepare(`UPDATE perdure_limit SET set_max = ?, set_per_ms = ? WHERE workflow = ? AND name = ?`)
    this.#nextQueuedKey = driver.prepare(`SELECT queued_for FROM perdure_instance WHERE queued_for > ? AND queued_for < ? ORDER BY queued_for LIMIT 1`)
    this.#find = driver.prepare(`SELECT key FROM perdure_instance WHERE id = ?`)
    this.#holders = driver.prepare(
      `SELECT i.id FROM perdure_slot s CROSS JOIN perdure_instance i ON i.key = s.instance WHERE s.limit_key = ? ORDER BY s.instance LIMIT ${holdersNamedMax}`,
    )
    this.#ahead = aheadOf(driver)
    this.#queued = driver.prepare(`SELECT key FROM perdure_instance WHERE id = ? AND incarnation = ? AND status = 'queued' AND limits IS NULL`)
    this.#assign = driver.prepare(`UPDATE perdure_instance SET priority = ?, limits = ?, lane = ?, deadline_at = ? WHERE key = ?`)
  }

  async declare(workflows: readonly WorkflowLimits[]): Promise<void> {
    const changed = workflows.flatMap(({ workflow, limits }) => {
      const known = this.#known(workflow)
      const wanted = [...limits, ...removedLimits([...known.keys()], limits)]
      return wanted.filter(({ name, ...numbers }) => !areEqualNumbers(known.get(name)?.declared, numbers)).map((limit) => ({ workflow, limit }))
    })
    // Every worker declares its limits when it starts, and mostly these are stored already.
    if (changed.length === 0) return
    this.#flow.transaction(() => {
      for (const { workflow, limit } of changed) {
        this.#declare.run(toText(workflow), toText(limit.name), limit.max, limit.perMs ?? null)
        this.#applyNumbers(workflow, limit.name)
      }
    })
  }

  async limitsOf(workflow: string): Promise<readonly LimitState[]> {
    return [...this.#known(workflow)].map(([name, { declared, override }]) => limitState(name, declared, override))
  }

  async override(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown"> {
    return this.#flow.transaction(() => {
      const known = this.#known(workflow)
      if (changes.some(({ name }) => !known.has(name))) return "unknown"
      for (const { name, to } of changes) {
        this.#set.run(to?.max ?? null, to?.perMs ?? null, toText(workflow), toText(name))
        this.#applyNumbers(workflow, name)
      }
      return "changed"
    })
  }

  async holder(unique: UniqueUse): Promise<string | undefined> {
    return this.#flow.unique.holder(unique)
  }

  async waitOf(id: string): Promise<LimitWait | undefined> {
    const row = this.#find.get(toText(id))
    const record = row && this.#flow.table.record(integer(row, "key"))
    const use = record?.queuedFor === undefined ? undefined : record.uses[record.limitsHeld]
    if (record === undefined || use === undefined) return undefined
    const { max, perMs } = this.#flow.table.numbers(use)
    const ahead = this.#ahead.get(toText(use.key), record.queuedPriority, record.queuedPriority, record.queuedSeq)
    return {
      use,
      max,
      ...(perMs === undefined ? {} : { perMs }),
      holders: this.#holders.all(toText(use.key)).map((holder) => text(holder, "id")),
      held: this.#flow.table.slotsInUse(use.key),
      ahead: ahead === undefined ? 0 : integer(ahead, "count"),
      ...(record.queuedUntil === undefined ? {} : { until: record.queuedUntil }),
    }
  }

  async assign(id: string, incarnation: string, traits: Pick<FlowTraits, "priority" | "limits">, deadlineAt?: number): Promise<boolean> {
    const isThere = this.#flow.transaction(() => {
      const row = this.#queued.get(toText(id), toText(incarnation))
      if (row === undefined) return false
      const [priority = 0, limits = null, , lane = null] = traitValues(traits)
      this.#assign.run(priority, limits, lane, deadlineAt ?? null, integer(row, "key"))
      return true
    })
    // TurnTable caches whether an instance has limits, and this instance has limits only now.
    this.#turns.clearCache()
    return isThere
  }

  onAdmitted(listener: (ids: readonly string[]) => void): () => void {
    return this.#flow.notifier.subscribe(listener)
  }

  #known(workflow: string): Map<string, { readonly declared: LimitNumbers; readonly override: LimitNumbers | undefined }> {
    const rows = this.#limits.all(toText(workflow))
    return new Map(rows.map((row) => [text(row, "name"), { declared: declaredNumbers(row), override: setNumbers(row) }]))
  }

  #applyNumbers(workflow: string, name: string): void {
    this.#flow.admission.limitsChanged([...this.#queuedKeys(`${workflow}/${name}`)])
  }

  /** The limit keys of one limit that instances may queue for: the key of the limit without a key of its own, and each key of the limit. */
  *#queuedKeys(limitKey: string): Iterable<string> {
    yield limitKey
    // "0" comes right after "/".
    for (let row = this.#nextQueuedKey.get(`${limitKey}/`, `${limitKey}0`); row !== undefined;) {
      const key = text(row, "queued_for")
      yield key
      row = this.#nextQueuedKey.get(key, `${limitKey}0`)
    }
  }
}

/** Counts queued instances of a higher priority, and of the same priority with an earlier place. */
function aheadOf(driver: SqlDriver): SqlStatement {
  return driver.prepare(
    `SELECT count(*) AS count FROM perdure_instance
    WHERE queued_for = ? AND queued_priority >= ? AND (queued_priority > ? OR queued_seq < ?)`,
  )
}

function areEqualNumbers(known: LimitNumbers | undefined, { max, perMs }: LimitNumbers): boolean {
  return known?.max === max && known.perMs === perMs
}
