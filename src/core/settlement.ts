import type { AskRequest } from "./ask.ts"
import type { Payload } from "./codec.ts"
import { EventTimeoutError, StepFailedError } from "./errors.ts"
import type { EntryOf } from "./journal.ts"
import { stepName } from "./step-id.ts"

/** An entry that settles one ask. */
export type Settling = EntryOf<"step.completed" | "step.failed" | "sleep.completed" | "wait.completed" | "wait.timedOut">

/** An ask with the promise that its asker holds. */
export class PendingAsk {
  readonly request: AskRequest
  readonly promise: Promise<unknown>
  resolve!: (value: unknown) => void
  rejectPromise!: (error: unknown) => void

  constructor(request: AskRequest) {
    this.request = request
    this.promise = new Promise<unknown>((resolve, rejectPromise) => {
      this.resolve = resolve
      this.rejectPromise = rejectPromise
    })
  }
}

/** Gives the asker what the entry says. `payload` is what a completed wait received. */
export function settle(ask: PendingAsk, entry: Settling, payload: Payload | undefined): void {
  switch (entry.type) {
    case "step.completed":
      return ask.resolve(entry.value.decode())
    case "step.failed":
      return reject(ask, new StepFailedError(stepName(entry.id), entry.attempt, entry.value.decode()))
    case "sleep.completed":
      return ask.resolve(undefined)
    case "wait.completed":
      return ask.resolve(payload?.decode())
    case "wait.timedOut":
      if (ask.request.kind !== "wait") return
      if (ask.request.fallback) return ask.resolve(ask.request.fallback.value)
      return reject(ask, new EventTimeoutError(stepName(entry.id), ask.request.event))
  }
}

/** Promises that the engine hands out count as handled: one that nobody looks at must not take the process down. */
export function reject(ask: PendingAsk, error: unknown): void {
  ask.promise.catch(() => undefined)
  ask.rejectPromise(error)
}
