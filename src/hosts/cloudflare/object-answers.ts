import { decodeValue, encodeValue } from "../../core/codec.ts"
import { storableError } from "../../core/storable-error.ts"
import type { ForkOptions, HistoryOptions, RestartOptions, SendOptions, SendOrStartOptions, StartOptions, TerminateOptions } from "../../engine/client.ts"
import { readChanges } from "../../engine/change-batch.ts"
import type { Engine } from "../../engine/engine.ts"
import type { EventMap } from "../../core/workflow.ts"

/** What an instance's object answers to clients: each is a method of the engine in it. */
export const objectAnswers = {
  start: async (engine: Engine, id: string, workflow: string, options: StartOptions<unknown>) => (await engine.start(workflow, { ...options, id })).id,
  sendOrStart: async (engine: Engine, id: string, workflow: string, options: SendOrStartOptions<unknown, EventMap, string>) =>
    (await engine.sendOrStart(workflow, { ...options, id })).id,
  status: (engine: Engine, id: string) => engine.get(id).status(),
  describe: (engine: Engine, id: string) => engine.describe(id),
  why: (engine: Engine, id: string) => engine.why(id),
  steps: (engine: Engine, id: string) => engine.get(id).steps(),
  history: (engine: Engine, id: string, options?: HistoryOptions) => engine.get(id).history(options),
  sendEvent: (engine: Engine, id: string, type: string, payload: unknown, options: SendOptions) => engine.get(id).sendEvent(type, payload, options),
  pause: (engine: Engine, id: string, reason?: string) => engine.pause(id, reason),
  resume: (engine: Engine, id: string) => engine.resume(id),
  cancel: (engine: Engine, id: string, reason?: string) => engine.cancel(id, reason),
  terminate: (engine: Engine, id: string, options?: string | TerminateOptions) => engine.terminate(id, options),
  restart: (engine: Engine, id: string, options?: RestartOptions) => engine.restart(id, options),
  fork: async (engine: Engine, id: string, options: ForkOptions) => (await engine.fork(id, options)).id,
  query: (engine: Engine, id: string, name: string, args: readonly unknown[]) => engine.query(id, name, ...args),
  update: (engine: Engine, id: string, name: string, args: readonly unknown[]) => engine.update(id, name, ...args),
  result: (engine: Engine, id: string, timeoutMs: number) => engine.result(id, timeoutMs),
  changes: async (engine: Engine, id: string, cursor: string | undefined) => readChanges(engine.parts.store.directory, id, cursor),
  delete: (engine: Engine, id: string) => engine.delete(id),
} as const

export type ObjectMethod = keyof typeof objectAnswers

/** Values go between objects and clients as they go into journals: what arrives is what was sent. */
export function encodeCall(value: unknown): string {
  return encodeValue(value, { bytesMax: Infinity })
}

export function encodeAnswer(value: unknown): string {
  return encodeCall({ value })
}

/** Whatever was thrown arrives, with its class where that is known, and without what cannot be sent. */
export function encodeFailure(error: unknown): string {
  try {
    return encodeCall({ error })
  } catch {
    return encodeCall({ error: storableError(error) })
  }
}

export function decodeAnswer(text: string): unknown {
  const answer = decodeValue(text) as { readonly value?: unknown } | { readonly error: unknown }
  if ("error" in answer) throw answer.error
  return answer.value
}
