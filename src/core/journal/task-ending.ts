import type { Encoded } from "../values/value-codec.ts"

/**
 * How a task ended, as the message to its instance says it. `details`: what the last heartbeat reported, for the next attempt.
 *
 *   value        the activity has returned
 *   error        it has thrown; `final`: no further attempt can help
 *   expired      its time was over; or its process gave it back before it ended, as when it closes (`handedBack`)
 */
export interface TaskEndingPayload {
  readonly value?: Encoded
  readonly error?: Encoded
  readonly final?: true
  readonly expired?: ExpiryReason | "handedBack"
  readonly details?: Encoded
}

/** Adds the details of the last stored heartbeat to the JSON text of an ending. Details that the ending has itself are newer, and come later in the text, so they win. */
export function withDetails(ending: string, details: string | undefined): string {
  if (details === undefined) return ending
  const field = `{"details":${JSON.stringify(details)}`
  return ending === "{}" ? `${field}}` : `${field},${ending.slice(1)}`
}

/**
 * Why a task expired. `lost`: its worker has neither renewed the claim nor sent a heartbeat in time. `attempt`: the attempt took too long. `start`: nobody
 * claimed it in time. `close`: the activity took too long over all attempts.
 */
export type ExpiryReason = "lost" | "attempt" | "start" | "close"

/** The ending of a task whose time was over, or that was handed back. */
export function expiredEnding(reason: ExpiryReason | "handedBack"): string {
  return `{"expired":"${reason}"}`
}
