import type { FlowControl, FlowTraits, LimitOverride, LimitState, LimitWait, UniqueUse, WorkflowLimits } from "../../ports/flow-control.ts"
import { holdersNamedMax, limitState, removedLimits, type LimitNumbers } from "../shared/flow-rows.ts"
import { toText } from "../shared/unsafe-text.ts"
import { integer, text } from "./reads/columns.ts"
import type { Database, Queries } from "./connection/database.ts"
import { recordColumns, toRecord } from "../shared/flow-rows.ts"
import { declaredNumbers, FlowSession, setNumbers } from "./flow-control/flow-session.ts"
import { traitColumns } from "./reads/instance-row.ts"
import type { PostgresComponents } from "./postgres-components.ts"
import { uniqueHolder } from "./turns/instance-queries.ts"

export class PostgresFlowControl implements FlowControl {
  readonly #components: PostgresComponents
  readonly #database: Database
  readonly #schema: string

  constructor(components: PostgresComponents) {
    this.#components = components
    this.#database = components.database
    this.#schema = components.database.schema
  }

  async declare(workflows: readonly WorkflowLimits[]): Promise<void> {
    const changed: { readonly workflow: string; readonly limit: WorkflowLimits["limits"][number] }[] = []
    const knownOf = await this.#known(
      this.#database,
      workflows.map(({ workflow }) => workflow),
    )
    for (const { workflow, limits } of workflows) {
      const known = knownOf(workflow)
      const wanted = [...limits, ...removedLimits([...known.keys()], limits)]
      for (const limit of wanted) if (!isSameLimit(known.get(limit.name)?.declared, limit)) changed.push({ workflow, limit })
    }
    // Every worker declares its limits when it starts, and most of them are there already.
    if (changed.length === 0) return
    await this.#change(
      changed.map(({ workflow, limit }) => ({ workflow, name: limit.name })),
      async (queries) => {
        for (const { workflow, limit } of changed) {
          await queries.all(
            "declare",
            `INSERT INTO ${this.#schema}.limits (workflow, name, max, per_ms) VALUES ($1, $2, $3, $4)
            ON CONFLICT (workflow, name) DO UPDATE SET max = excluded.max, per_ms = excluded.per_ms`,
            toText(workflow),
            toText(limit.name),
            limit.max,
            limit.perMs ?? null,
          )
        }
        return true
      },
    )
  }

  async limitsOf(workflow: string): Promise<readonly LimitState[]> {
    const known = (await this.#known(this.#database, [workflow]))(workflow)
    return [...known].map(([name, { declared, override }]) => limitState(name, declared, override))
  }

  async override(workflow: string, changes: readonly LimitOverride[]): Promise<"changed" | "unknown"> {
    const isKnown = await this.#change(
      changes.map(({ name }) => ({ workflow, name })),
      async (queries) => {
        const known = (await this.#known(queries, [workflow]))(workflow)
        if (changes.some(({ name }) => !known.has(name))) return false
        for (const { name, to } of changes) {
          await queries.all(
            "override",
            `UPDATE ${this.#schema}.limits SET set_max = $1, set_per_ms = $2 WHERE workflow = $3 AND name = $4`,
            to?.max ?? null,
            to?.perMs ?? null,
            toText(workflow),
            toText(name),
          )
        }
        return true
      },
    )
    return isKnown ? "changed" : "unknown"
  }

  async holder(unique: UniqueUse): Promise<string | undefined> {
    return uniqueHolder(this.#database, this.#database, unique)
  }

  async waitOf(id: string): Promise<LimitWait | undefined> {
    const s = this.#schema
    const row = await this.#database.get("wait", `SELECT ${recordColumns} FROM ${s}.instance i WHERE i.id = $1 AND i.limits IS NOT NULL`, toText(id))
    const record = row && toRecord(row)
    const use = record?.queuedFor === undefined ? undefined : record.uses[record.limitsHeld]
    if (record === undefined || use === undefined) return undefined
    const known = (await this.#known(this.#database, [use.workflow]))(use.workflow).get(use.name)
    const { max, perMs } = known?.override ?? known?.declared ?? use
    const [line] = await this.#database.all(
      "line",
      `SELECT (SELECT count(*) FROM ${s}.slot WHERE limit_key = $1) AS held, (
        SELECT count(*) FROM ${s}.instance WHERE queued_for = $1 AND queued_priority >= $2 AND (queued_priority > $2 OR queued_seq < $3)
      ) AS ahead`,
      toText(use.key),
      record.queuedPriority,
      record.queuedSeq,
    )
    const holders = await this.#database.all(
      "holders",
      `SELECT i.id FROM ${s}.slot s JOIN ${s}.instance i ON i.key = s.instance WHERE s.limit_key = $1 ORDER BY s.instance LIMIT ${holdersNamedMax}`,
      toText(use.key),
    )
    return {
      use,
      max,
      ...(perMs === undefined ? {} : { perMs }),
      holders: holders.map((holder) => text(holder, "id")),
      held: integer(line ?? {}, "held"),
      ahead: integer(line ?? {}, "ahead"),
      ...(record.queuedUntil === undefined ? {} : { until: record.queuedUntil }),
    }
  }

  async assign(id: string, incarnation: string, traits: Pick<FlowTraits, "priority" | "limits">, deadlineAt?: number): Promise<boolean> {
    const { priority, limits, lane } = traitColumns(traits)
    const rows = await this.#database.all(
      "assign",
      `UPDATE ${this.#schema}.instance SET priority = $3, limits = $4, lane = $5, deadline_at = $6
      WHERE id = $1 AND incarnation = $2 AND status = 'queued' AND limits IS NULL RETURNING key`,
      toText(id),
      toText(incarnation),
      priority,
      limits ?? null,
      lane ?? null,
      deadlineAt ?? null,
    )
    return rows.length > 0
  }

  onAdmitted(listener: (ids: readonly string[]) => void): () => void {
    return this.#components.flow.admissions.subscribe(listener)
  }

  /** Writes other numbers, and admits the instances that the numbers allow. False: nothing is written. */
  async #change(limits: readonly { readonly workflow: string; readonly name: string }[], write: (queries: Queries) => Promise<boolean>): Promise<boolean> {
    const workflows = limits.map(({ workflow }) => workflow)
    return this.#components.flow.transaction(
      async () => workflows,
      async (session, queries) => {
        if (!(await write(queries))) return false
        // Reads the numbers again, because they have changed.
        const changed = await FlowSession.begin(queries, this.#database, workflows)
        const queues: string[] = []
        for (const { workflow, name } of limits) queues.push(...(await this.#queues(queries, `${workflow}/${name}`)))
        await changed.run([], (admission) => admission.limitsChanged(queues))
        session.admitted.push(...changed.admitted)
        return true
      },
    )
  }

  /** The keys of a limit that instances may be queued for: the limit as a whole, and each of its keys. */
  async #queues(queries: Queries, whole: string): Promise<string[]> {
    const rows = await queries.all(
      "lines",
      // In the order of characters, "0" comes right after "/".
      `SELECT DISTINCT i.queued_for FROM ${this.#schema}.instance i WHERE i.queued_for > $1 || '/' AND i.queued_for < $1 || '0'`,
      toText(whole),
    )
    return [whole, ...rows.map((row) => text(row, "queued_for"))]
  }

  async #known(queries: Queries, workflows: readonly string[]): Promise<(workflow: string) => Map<string, Known>> {
    const rows = await queries.all(
      "limits",
      `SELECT workflow, name, max, per_ms, set_max, set_per_ms FROM ${this.#schema}.limits WHERE workflow = ANY ($1::text[]) ORDER BY name`,
      workflows.map(toText),
    )
    return (workflow) =>
      new Map(
        rows
          .filter((row) => text(row, "workflow") === workflow)
          .map((row) => [text(row, "name"), { declared: declaredNumbers(row), override: setNumbers(row) }]),
      )
  }
}

interface Known {
  readonly declared: LimitNumbers
  readonly override: LimitNumbers | undefined
}

function isSameLimit(known: LimitNumbers | undefined, { max, perMs }: LimitNumbers): boolean {
  return known?.max === max && known.perMs === perMs
}
