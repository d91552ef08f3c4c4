import type { Encoded } from "../values/value-codec.ts"

/**
 * How a task ended, as the message to its instance says it. `details`: what the last heartbeat reported, for the next attempt.
 *
 *   value        the activity has returned
 *   error        it has thrown; `final`: no further attempt can help
 *   expired      its time was over
 */
export interface TaskEndingPayload {
  readonly value?: Encoded
  readonly error?: Encoded
  readonly final?: true
  readonly expired?: "lost" | "attempt" | "start" | "close"
  readonly details?: Encoded
}

/** Adds the details of the last stored heartbeat to the JSON text of an ending. Details that the ending has itself are newer, and come later in the text, so they win. */
export function withDetails(ending: string, details: string | undefined): string {
  if (details === undefined) return ending
  const field = `{"details":${JSON.stringify(details)}`
  return ending === "{}" ? `${field}}` : `${field},${ending.slice(1)}`
}

/** The ending of a task whose time was over. */
export function expiredEnding(reason: NonNullable<TaskEndingPayload["expired"]>): string {
  return `{"expired":"${reason}"}`
}
