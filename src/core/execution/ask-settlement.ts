import type { AskRequest } from "./ask.ts"
import { Deferred } from "./deferred.ts"
import { EventTimeoutError, StepFailedError } from "../errors.ts"
import { markSensitive } from "../values/redaction.ts"
import type { ReceivedEntry } from "../journal/event-buffer.ts"
import type { EntryOf } from "../journal/journal.ts"
import { stepName } from "../workflow/step-id.ts"

/** An entry that settles one ask. */
export type SettlingEntry = EntryOf<"step.completed" | "step.failed" | "sleep.completed" | "wait.completed" | "wait.timedOut">

/** An ask with the promise that the asking code holds. */
export class PendingAsk extends Deferred {
  readonly request: AskRequest

  constructor(request: AskRequest) {
    super()
    this.request = request
  }
}

/** Settles the promise of an ask with the result in the entry. `received` is the event that a completed wait received. */
export function settle(ask: PendingAsk, entry: SettlingEntry, received: ReceivedEntry | undefined): void {
  switch (entry.type) {
    case "step.completed":
      return ask.resolve(entry.value.decode())
    case "step.failed":
      return ask.reject(failureOf(ask.request, entry))
    case "sleep.completed":
      return ask.resolve(undefined)
    case "wait.completed":
      return ask.resolve(entry.from === undefined ? true : eventOf(ask.request, received))
    case "wait.timedOut":
      if (ask.request.kind !== "wait") return
      if (ask.request.fallback) return ask.resolve(ask.request.fallback.value)
      return ask.reject(new EventTimeoutError(stepName(entry.id), ask.request.event ?? ""))
  }
}

function eventOf(request: AskRequest, received: ReceivedEntry | undefined): unknown {
  if (received === undefined) return undefined
  const { entry, at } = received
  const payload = entry.value.decode()
  if (request.kind !== "wait" || !request.wantsEnvelope) return payload
  return { type: entry.event, payload, receivedAt: at, ...(entry.eventId === undefined ? undefined : { eventId: entry.eventId }) }
}

function failureOf(request: AskRequest, { id, attempt, value }: EntryOf<"step.failed">): unknown {
  const error = value.decodeError()
  if (request.kind !== "do" || request.isEngineStep) return error
  const failure = new StepFailedError(stepName(id), attempt, error)
  return value.isSensitive ? markSensitive(failure) : failure
}
