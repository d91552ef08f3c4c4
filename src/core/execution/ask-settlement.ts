import type { AskRequest } from "./ask.ts"
import type { Payload } from "../values/value-codec.ts"
import { Deferred } from "./deferred.ts"
import { EventTimeoutError, StepFailedError } from "../errors.ts"
import { markSensitive } from "../values/redaction.ts"
import type { EntryOf } from "../journal/journal.ts"
import { stepName } from "../workflow/step-id.ts"

/** An entry that settles one ask. */
export type Settling = EntryOf<"step.completed" | "step.failed" | "sleep.completed" | "wait.completed" | "wait.timedOut">

/** An ask with the promise that its asker holds. */
export class PendingAsk extends Deferred {
  readonly request: AskRequest

  constructor(request: AskRequest) {
    super()
    this.request = request
  }
}

/** Gives the asker what the entry says. `payload` is what a completed wait received. */
export function settle(ask: PendingAsk, entry: Settling, payload: Payload | undefined): void {
  switch (entry.type) {
    case "step.completed":
      return ask.resolve(entry.value.decode())
    case "step.failed":
      return ask.reject(failureOf(ask.request, entry))
    case "sleep.completed":
      return ask.resolve(undefined)
    case "wait.completed":
      return ask.resolve(entry.from === undefined ? true : payload?.decode())
    case "wait.timedOut":
      if (ask.request.kind !== "wait") return
      if (ask.request.fallback) return ask.resolve(ask.request.fallback.value)
      return ask.reject(new EventTimeoutError(stepName(entry.id), ask.request.event ?? ""))
  }
}

function failureOf(request: AskRequest, { id, attempt, value }: EntryOf<"step.failed">): unknown {
  const error = value.decodeError()
  if (request.kind !== "do" || request.isOwn) return error
  const failure = new StepFailedError(stepName(id), attempt, error)
  return value.isSensitive ? markSensitive(failure) : failure
}
