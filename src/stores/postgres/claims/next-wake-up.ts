import type { Offer } from "../../../ports/journal-store.ts"
import type { Database } from "../connection/database.ts"
import type { ServerClock } from "../connection/server-clock.ts"
import { integer, optionalInteger } from "../reads/columns.ts"
import { claimGroupColumns } from "./locked-due-search.ts"

/**
 * What wakes a sleep on PostgreSQL. The server has no timer. An instance that sleeps for long has no owner, and its row has the due time. Each worker
 * that could claim the instance asks for the earliest due time after each claim, and sets a timer for it (`ClaimLoop`). When the timer fires, the worker
 * claims; the first worker gets the instance. A sweep asks again, so that a worker also finds sleeps which began after it asked.
 *
 * Retries, timeouts and delayed starts of instances without an owner are due times too. Undefined: nothing is due.
 */
export async function nextWakeUp(database: Database, clock: ServerClock, offers: readonly Offer[]): Promise<number | undefined> {
  const { functions } = database
  const sentAt = clock.sentAt()
  const row = await database.get("next-due", `SELECT ${functions.nextDue}($1, $2, $3) AS at, ${functions.nowMs}() AS now`, ...claimGroupColumns(offers))
  if (row === undefined) return undefined
  // The query follows each claim, so a worker that does anything soon notices that somebody has set the server's clock.
  clock.noted(sentAt, integer(row, "now"))
  return optionalInteger(row, "at")
}
