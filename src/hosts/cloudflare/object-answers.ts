import { decodeValue, encodeValue } from "../../core/codec.ts"
import { storableError } from "../../core/storable-error.ts"
import type { ForkOptions, HistoryOptions, RestartOptions, SendOptions, SendOrStartOptions, StartOptions, TerminateOptions } from "../../engine/client.ts"
import { readChanges } from "../../engine/change-batch.ts"
import { refuseSelf, result, sendOrStart } from "../../engine/instance-calls.ts"
import { readWhy } from "../../engine/why-reader.ts"
import type { EventMap } from "../../core/workflow.ts"
import type { ObjectEngine } from "./object-engine.ts"

/** What an instance's object answers to clients, of the instance that it is asked about. */
export const objectAnswers = {
  start: ({ core }: ObjectEngine, id: string, workflow: string, options: StartOptions<unknown>) => core.parts.starter.start(workflow, { ...options, id }),
  sendOrStart: async ({ core }: ObjectEngine, id: string, workflow: string, options: SendOrStartOptions<unknown, EventMap, string>) => {
    await sendOrStart(core, workflow, { ...options, id })
    return id
  },
  status: async ({ core }: ObjectEngine, id: string) => (await core.parts.reader.row(id)).status,
  describe: ({ core }: ObjectEngine, id: string) => core.parts.reader.describe(id),
  why: ({ core }: ObjectEngine, id: string) => readWhy(core, id),
  steps: ({ core }: ObjectEngine, id: string) => core.parts.reader.steps(id),
  history: ({ core }: ObjectEngine, id: string, options: HistoryOptions = {}) => core.parts.reader.history(id, options),
  sendEvent: ({ core }: ObjectEngine, id: string, type: string, payload: unknown, options: SendOptions = {}) =>
    core.parts.controls.sendEvent(id, type, payload, options),
  pause: ({ core }: ObjectEngine, id: string, reason?: string) => core.parts.controls.control(id, "pause", reason),
  resume: ({ core }: ObjectEngine, id: string) => core.parts.controls.control(id, "resume", undefined),
  cancel: ({ core }: ObjectEngine, id: string, reason?: string) => core.parts.controls.control(id, "cancel", reason),
  terminate: ({ core }: ObjectEngine, id: string, options: string | TerminateOptions = {}) =>
    core.parts.controls.terminate(id, typeof options === "object" ? options : { reason: options }),
  restart: ({ core }: ObjectEngine, id: string, options: RestartOptions = {}) => core.parts.controls.restart(id, options),
  fork: ({ core }: ObjectEngine, id: string, options: ForkOptions) => core.parts.controls.fork(id, options),
  query: ({ asker }: ObjectEngine, id: string, name: string, args: readonly unknown[]) => asker.query(id, name, args),
  update: ({ core, asker }: ObjectEngine, id: string, name: string, args: readonly unknown[]) => {
    refuseSelf(core.parts, id, "updates itself and waits for its own answer")
    return asker.update(id, name, args)
  },
  result: ({ core }: ObjectEngine, id: string, timeoutMs: number) => result(core, id, timeoutMs),
  changes: ({ core }: ObjectEngine, id: string, cursor: string | undefined) => readChanges(core.parts.store.directory, id, cursor),
  delete: ({ core }: ObjectEngine, id: string) => core.parts.controls.delete(id),
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
