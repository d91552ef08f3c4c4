import type { Payload } from "../../core/values/value-codec.ts"
import { messageOf, textOf } from "../../core/values/error-text.ts"
import { redacted } from "../../core/values/redaction.ts"
import type { EntryOf } from "../../core/journal/journal.ts"
import { isWrapper, thrownAt, userStack } from "../../core/values/user-stack.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import type { Logger } from "../../ports/host.ts"

/** Logs failures of steps and runs. It is called when the entry is durable, so never during replay. Sensitive errors are not shown. */

/** `isStopped`: the instance is being cancelled or has ended, so the failure is expected. */
export function logStepFailure(log: Logger, { id, workflow }: NewInstance, entry: EntryOf<"step.failed">, { at, isStopped }: FailedAt): void {
  const { id: step, attempt, retryAt } = entry
  const { text, ...failure } = shownFailure(entry.value)
  const data = { instance: id, workflow, step, attempt, ...failure }
  const which = `step "${step}" of instance "${id}"`
  if (retryAt !== undefined) {
    const where = failure.at === undefined ? "" : ` (at ${failure.at})`
    log.info(`attempt ${attempt} of ${which} failed, the next is in ${Math.max(0, retryAt - at) / 1_000} s: ${text}${where}`, { ...data, retryAt })
  } else if (isStopped) log.info(`${which} was stopped: ${text}`, data)
  else log.warn(`${which} failed after ${attempt} ${attempt === 1 ? "attempt" : "attempts"}: ${text}`, data)
}

export function logRunFailure(log: Logger, { id, workflow, version }: NewInstance, run: number, { value }: EntryOf<"run.failed">): void {
  const { text, ...failure } = shownFailure(value)
  log.warn(`instance "${id}" of workflow "${workflow}" failed: ${text}`, { instance: id, workflow, version, run, ...failure })
}

interface FailedAt {
  readonly at: number
  readonly isStopped: boolean
}

/** `at`: the line of the user's code that threw the error. */
function shownFailure(value: Payload): { readonly error: unknown; readonly at?: string; readonly text: string } {
  const error = value.shown()
  if (error === redacted) return { error, text: "an error that is not shown" }
  const at = thrownAt(error)
  trimStacks(error)
  const text = error instanceof Error ? `${textOf(error.name)}: ${messageOf(error)}` : messageOf(error)
  return at === undefined ? { error, text } : { error, at, text }
}

const causesMax = 20

/** Keeps only the frames of the user's code, if there are any. The error is a copy for the log. */
function trimStacks(error: unknown): void {
  let next = error
  for (let depth = 0; depth < causesMax && next instanceof Error; depth++, next = next.cause) {
    const stack = isWrapper(next) ? `${next.name}: ${next.message}` : userStack(next)
    if (stack !== undefined) next.stack = stack
  }
}
