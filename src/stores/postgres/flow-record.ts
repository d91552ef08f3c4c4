import type { Status } from "../../core/status.ts"
import type { FlowRecord } from "../admission.ts"
import { integer, optionalInteger, optionalText, text } from "./columns.ts"
import type { PgRow } from "./database.ts"
import { toUses } from "./instance-row.ts"

/** With what else is to be known of the instance where it is claimed, or gets another state. */
export interface PgFlowRecord extends FlowRecord {
  readonly id: string
  readonly status: Status
  readonly run: number
  readonly dueAt: number | undefined
  readonly controlAt: number | undefined
  readonly deadlineAt: number | undefined
}

export const recordColumns = `i.key, i.id, i.priority, i.limits, i.held, i.paid, i.parked_on, i.parked_priority, i.parked_seq, i.parked_until,
  i.status, i.phase, i.run, i.due_at, i.control_at, i.deadline_at`

export function toRecord(row: PgRow): PgFlowRecord {
  return {
    key: integer(row, "key"),
    id: text(row, "id"),
    priority: integer(row, "priority"),
    isCancelling: row["phase"] === "cancelling",
    uses: toUses(String(row["limits"])),
    held: integer(row, "held"),
    isPaid: row["paid"] === true,
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
