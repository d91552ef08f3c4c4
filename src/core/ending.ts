import { CancelledError, PerdureError, TerminatedError } from "./errors.ts"
import type { Entry, EntryOf } from "./journal.ts"

/** The error that an ended, or stalled, instance shows to whoever asks for its result. */
export function endingError(instance: string, entry: Entry): unknown {
  switch (entry.type) {
    case "run.failed":
      return entry.value.decodeError()
    case "run.cancelled":
      return new CancelledError(instance, entry.reason)
    case "run.terminated":
      return new TerminatedError(instance, entry.reason)
    case "stalled":
      return new PerdureError("STALLED", entry.message, { details: { instance, code: entry.code } })
    default:
      return new PerdureError("STORE_FAILED", `the journal of instance "${instance}" ends with ${entry.type}, which is no ending`, { details: { instance } })
  }
}

/** The same as it may be shown to anybody. */
export function shownEnding(instance: string, entry: Entry): unknown {
  return "value" in entry && entry.value ? entry.value.shown() : endingError(instance, entry)
}

/** How a child that did not complete may be shown to anybody. */
export function shownChildError(entry: EntryOf<"child.ended">): unknown {
  return entry.status === "failed" ? entry.value.shown() : childError(entry)
}

/** The error that a child which did not complete shows to its parent. */
export function childError({ instance, status, value, reason }: EntryOf<"child.ended">): unknown {
  if (status === "failed") return value.decodeError()
  return status === "cancelled" ? new CancelledError(instance, reason) : new TerminatedError(instance, reason)
}
