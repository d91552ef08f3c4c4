import { PerdureError } from "../errors.ts"
import { durationMs, type Duration } from "../time/duration.ts"

/** How long an ended instance is kept. What is left out: for ever. */
export interface Retention {
  /** An instance that completed. */
  readonly completed?: Duration
  /** An instance that failed, was cancelled or was terminated. */
  readonly failed?: Duration
}

/** A retention as the journal has it, in milliseconds. */
export interface RetentionMs {
  /** Of an instance that completed. */
  readonly completed?: number
  /** Of an instance that failed, was cancelled or was terminated. */
  readonly failed?: number
}

const names = ["completed", "failed"] as const

/** Throws `BAD_OPTION` for what is no retention, and `BAD_DURATION` for what is no duration. */
export function retentionMs(retention: Retention, what: string): RetentionMs {
  if (typeof retention !== "object" || retention === null || Object.keys(retention).some((key) => !names.includes(key as "completed")))
    throw new PerdureError("BAD_OPTION", `${what} must be { completed: duration, failed: duration }`, { details: { option: "retention" } })
  const recorded: Record<string, number> = {}
  for (const name of names) {
    const duration = retention[name]
    if (duration !== undefined) recorded[name] = durationMs(duration, `${what}.${name}`)
  }
  return recorded
}
