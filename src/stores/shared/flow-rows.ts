import { unlimited } from "../../core/workflow/flow-options.ts"
import type { Status } from "../../core/journal/status.ts"
import type { LimitState, LimitUse, UniqueUse, WorkflowLimits } from "../../ports/flow-control.ts"
import type { FlowRecord } from "./slot-admission.ts"
import { integer, optionalInteger, optionalText, text, type UntypedRow } from "./columns.ts"
import { toUses } from "./instance-rows.ts"

/** What the flow control of every store has in common, beside the algorithm. */

/** At most so many holders of a limit are named. */
export const holdersNamedMax = 5

export interface LimitNumbers {
  readonly max: number
  readonly perMs?: number
}

/** With what else is to be known of the instance where it is claimed, or gets another state. */
export interface StoredFlowRecord extends FlowRecord {
  readonly id: string
  readonly status: Status
  readonly run: number
  readonly dueAt: number | undefined
  readonly controlAt: number | undefined
  readonly deadlineAt: number | undefined
}

/** What `toRecord` reads of the table `i`. */
export const recordColumns =
  "i.key, i.id, i.priority, i.limits, i.held, i.paid, i.parked_on, i.parked_priority, i.parked_seq, i.parked_until, i.status, i.phase, i.run, i.due_at, i.control_at, i.deadline_at"

export function toRecord(row: UntypedRow): StoredFlowRecord {
  return {
    key: integer(row, "key"),
    id: text(row, "id"),
    priority: integer(row, "priority"),
    isCancelling: row["phase"] === "cancelling",
    uses: toUses(String(row["limits"])),
    limitsHeld: integer(row, "held"),
    isStartCounted: row["paid"] === true || row["paid"] === 1,
    parkedOn: optionalText(row, "parked_on"),
    parkedPriority: optionalInteger(row, "parked_priority") ?? 0,
    parkedSeq: optionalInteger(row, "parked_seq") ?? 0,
    parkedUntil: optionalInteger(row, "parked_until"),
    status: text(row, "status") as Status,
    run: integer(row, "run"),
    dueAt: optionalInteger(row, "due_at"),
    controlAt: optionalInteger(row, "control_at"),
    deadlineAt: optionalInteger(row, "deadline_at"),
  }
}

/** Limits that a workflow has had and does not declare any more: they let everybody in. */
export function removedLimits(known: readonly string[], declared: WorkflowLimits["limits"]): WorkflowLimits["limits"] {
  return known.filter((name) => !declared.some((limit) => limit.name === name)).map((name) => ({ name, max: unlimited }))
}

export function limitState(name: string, declared: LimitNumbers, override: LimitNumbers | undefined): LimitState {
  return override === undefined ? { name, ...declared } : { name, ...override, declared }
}

/** Tells whoever listens which instances were let in, after the transaction. */
export class AdmissionNotifier {
  readonly #listeners = new Set<(ids: readonly string[]) => void>()

  subscribe(listener: (ids: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  notify(ids: readonly string[]): void {
    if (ids.length > 0) for (const listener of this.#listeners) listener(ids)
  }
}

/** A unique key as a limit of one slot. No key of a declared limit begins with "!". */
export function uniqueKeyUse({ kind, key }: UniqueUse): LimitUse {
  return { kind: "concurrency", workflow: "", name: kind, key: `!${kind}/${key}`, isKeyed: true, hold: true, max: 1 }
}
