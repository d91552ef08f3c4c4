import { isTerminal, type Status } from "../../../core/journal/status.ts"
import type { SqlRow } from "../../../ports/sql-driver.ts"
import { instanceColumns } from "../tables/instance-row.ts"

/** All that a database without the column `claimable_at` is asked of its instances. */
export const objectRows = `SELECT ${instanceColumns}, i.crashed, i.lane, i.mail_at, i.control_at, i.parked_until FROM perdure_instance i`

/** When the instance of such a row wants to be claimed, as that column of a file says; Infinity: never. */
export function claimableAtOf(row: SqlRow): number {
  const { owner, status, due_at: due, mail_at: mail, control_at: control } = row
  if (owner !== null) return Infinity
  if (isTerminal(status as Status)) return first(due)
  if (status === "paused" || status === "stalled") return first(due, control)
  return row["parked_on"] === null ? first(due, mail) : first(row["parked_until"], row["deadline_at"], control)
}

function first(...times: readonly unknown[]): number {
  return Math.min(...times.map((at) => (at ?? Infinity) as number))
}
