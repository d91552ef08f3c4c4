import { unlimited } from "../../core/workflow/flow-options.ts"
import type { Status } from "../../core/journal/status.ts"
import type { LimitState, LimitUse, UniqueUse, WorkflowLimits } from "../../ports/flow-control.ts"
import type { FlowRecord } from "./slot-admission.ts"
import { integer, optionalInteger, optionalText, text, type UntypedRow } from "./columns.ts"
import { toUses } from "./instance-rows.ts"

// The flow control that all stores share, except slot admission itself (slot-admission.ts).

/** How many holders of a limit are named at most. */
export const holdersNamedMax = 5

export interface LimitNumbers {
  readonly max: number
  readonly perMs?: number
}

/** A flow record with the columns that claims and new states need. */
export interface StoredFlowRecord extends FlowRecord {
  readonly id: string
  readonly status: Status
  readonly run: number
  readonly dueAt: number | undefined
  readonly controlAt: number | undefined
  readonly deadlineAt: number | undefined
}

/** The columns of the instance table `i` that `toRecord` reads. */
export const recordColumns =
  "i.key, i.id, i.priority, i.limits, i.held, i.paid, i.queued_for, i.queued_priority, i.queued_seq, i.queued_until, i.status, i.phase, i.run, i.due_at, i.control_at, i.deadline_at"

export function toRecord(row: UntypedRow): StoredFlowRecord {
  return {
    key: integer(row, "key"),
    id: text(row, "id"),
    priority: integer(row, "priority"),
    isCancelling: row["phase"] === "cancelling",
    uses: toUses(String(row["limits"])),
    limitsHeld: integer(row, "held"),
    isStartCounted: row["paid"] === true || row["paid"] === 1,
    queuedFor: optionalText(row, "queued_for"),
    queuedPriority: optionalInteger(row, "queued_priority") ?? 0,
    queuedSeq: optionalInteger(row, "queued_seq") ?? 0,
    queuedUntil: optionalInteger(row, "queued_until"),
    status: text(row, "status") as Status,
    run: integer(row, "run"),
    dueAt: optionalInteger(row, "due_at"),
    controlAt: optionalInteger(row, "control_at"),
    deadlineAt: optionalInteger(row, "deadline_at"),
  }
}

/** Limits that a workflow no longer declares. They become unlimited, so that they block no instance. */
export function removedLimits(known: readonly string[], declared: WorkflowLimits["limits"]): WorkflowLimits["limits"] {
  return known.filter((name) => !declared.some((limit) => limit.name === name)).map((name) => ({ name, max: unlimited }))
}

export function limitState(name: string, declared: LimitNumbers, override: LimitNumbers | undefined): LimitState {
  return override === undefined ? { name, ...declared } : { name, ...override, declared }
}

/** Tells its listeners after a transaction which instances were admitted. */
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

/** Represents a unique key as a limit of one slot. No key of a declared limit begins with "!". */
export function uniqueKeyUse({ kind, key }: UniqueUse): LimitUse {
  return { kind: "concurrency", workflow: "", name: kind, key: `!${kind}/${key}`, isKeyed: true, hold: true, max: 1 }
}
