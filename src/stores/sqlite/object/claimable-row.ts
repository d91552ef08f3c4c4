import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { SqlRow } from "../../../ports/sql-driver.ts"
import { instanceColumns } from "../tables/instance-row.ts"

/** Reads the rows of an object's instances. An object has no column `claimable_at`: `claimableAtOf` computes it. */
export const objectRows = `SELECT ${instanceColumns}, i.crashed, i.lane, i.mail_at, i.control_at, i.queued_until FROM perdure_instance i`

/** When the instance must be claimed, by the same rules as the column `claimable_at` of a file. Infinity: never. */
export function claimableAtOf(row: SqlRow): number {
  const { owner, status, due_at: due, mail_at: mail, control_at: control } = row
  if (owner !== null) return Infinity
  if (isTerminal(status as Status)) return first(due)
  if (status === "paused" || status === "stalled") return first(due, control)
  return row["queued_for"] === null ? first(due, mail) : first(row["queued_until"], row["deadline_at"], control)
}

function first(...times: readonly unknown[]): number {
  return Math.min(...times.map((at) => (at ?? Infinity) as number))
}
