import { durationMs } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import type { AnyWorkflow, EventMap } from "../../core/workflow/workflow.ts"
import type { ResultOptions, SendOrStartOptions, StartOptions } from "../../client-api/client-api.ts"
import { resultOf } from "./result-waiters.ts"
import type { EngineCore } from "../engine-core.ts"

/** What callers ask of an engine that takes more than one of its parts, whatever the API is that they ask through. */

export async function sendOrStart(
  { parts }: EngineCore,
  workflow: AnyWorkflow | string,
  { id, event, payload, eventId, ...start }: SendOrStartOptions<unknown, EventMap, string>,
): Promise<void> {
  const { controls, starter, worker, registry } = parts
  const definition = typeof workflow === "string" ? registry.identify(workflow, start.version) : workflow
  const message = await controls.eventMessage(id, definition, event, payload, eventId === undefined ? {} : { eventId })
  await starter.sendOrStart(workflow, { ...(start as StartOptions<unknown>), id }, { ...message, isChecked: true })
  worker.announce(id, undefined)
  worker.committer.onWritten()
}

/** The result of an instance, once it has one. */
export async function result({ parts }: EngineCore, id: string, { timeout, signal, rejectWhenStalled = false }: ResultOptions = {}): Promise<unknown> {
  const timeoutMs = timeout === undefined ? undefined : durationMs(timeout, "timeout")
  const runner = parts.worker.residents.get(id)
  const isOurs = runner !== undefined && !runner.state.ended
  // Its hooks may ask: by then it has one.
  if (isOurs) refuseSelf(parts, id, "waits for its own result, which can never come; return the value instead")
  return resultOf(id, await parts.resultWaiters.wait(id, timeoutMs, isOurs, signal, rejectWhenStalled))
}

/** Throws where the instance itself is the caller. */
export function refuseSelf({ host, worker }: EngineCore["parts"], id: string, what: string): void {
  const scope = host.currentScope()
  if (scope?.engine !== worker || scope.instance !== id) return
  throw new PerdureError("SELF_CALL", `instance "${id}" ${what}`, { details: { instance: id, step: scope.step } })
}
