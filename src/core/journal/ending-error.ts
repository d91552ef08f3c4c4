import { CancelledError, ChildFailedError, PerdureError, TerminatedError } from "../errors.ts"
import { markSensitive } from "../values/redaction.ts"
import type { Entry, EntryOf } from "./journal.ts"

/** The error that `result()` rejects with for an instance that has ended without a result, or has stalled. */
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
      return new PerdureError("STORE_FAILED", `the journal of instance "${instance}" ends with ${entry.type}, which does not end a run`, {
        details: { instance },
      })
  }
}

/** The error of a `result()` call that does not wait while the instance is stalled. */
export function stallError(instance: string, { code, message }: EntryOf<"stalled">): PerdureError {
  return new PerdureError("STALLED", `instance "${instance}" is stalled: ${message}`, { details: { instance, code } })
}

/** The error of an ending with sensitive values redacted, as lists and logs may show it. */
export function shownEnding(instance: string, entry: Entry): unknown {
  return "value" in entry && entry.value ? entry.value.shown() : endingError(instance, entry)
}

/** The error of a child that did not complete, with sensitive values redacted. */
export function shownChildError(entry: EntryOf<"child.ended">): unknown {
  return entry.status === "failed" && entry.value.isSensitive ? entry.value.shown() : childError(entry)
}

/** The cause of that error, with sensitive values redacted. */
export function shownChildCause(entry: EntryOf<"child.ended">): unknown {
  return entry.status === "failed" ? entry.value.shown() : childCause(entry)
}

/** The error that a parent gets for a child that did not complete. */
export function childError(entry: EntryOf<"child.ended">): unknown {
  const { instance, workflow, status, value, reason } = entry
  const cause = childCause(entry)
  if (workflow === undefined || status === "completed") return cause
  const error = new ChildFailedError(instance, { workflow, status, reason, cause })
  return value.isSensitive ? markSensitive(error) : error
}

function childCause({ instance, status, value, reason }: EntryOf<"child.ended">): unknown {
  if (status === "failed") return value.decodeError()
  return status === "cancelled" ? new CancelledError(instance, reason) : new TerminatedError(instance, reason)
}
