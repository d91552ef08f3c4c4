import { CancelledError, ChildFailedError, PerdureError, TerminatedError } from "../errors.ts"
import { markSensitive } from "../values/redaction.ts"
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

/** What rejects a result that is not waited for while the instance is stalled. */
export function stallError(instance: string, { code, message }: EntryOf<"stalled">): PerdureError {
  return new PerdureError("STALLED", `instance "${instance}" is stalled: ${message}`, { details: { instance, code } })
}

/** The same as it may be shown to anybody. */
export function shownEnding(instance: string, entry: Entry): unknown {
  return "value" in entry && entry.value ? entry.value.shown() : endingError(instance, entry)
}

/** How a child that did not complete may be shown to anybody. */
export function shownChildError(entry: EntryOf<"child.ended">): unknown {
  return entry.status === "failed" && entry.value.isSensitive ? entry.value.shown() : childError(entry)
}

/** What a child that did not complete ended with, as it may be shown to anybody. */
export function shownChildCause(entry: EntryOf<"child.ended">): unknown {
  return entry.status === "failed" ? entry.value.shown() : childCause(entry)
}

/** The error that a child which did not complete shows to its parent. */
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
