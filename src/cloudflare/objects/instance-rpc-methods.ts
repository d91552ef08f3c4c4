import { isCodeError, markCodeError } from "../../core/execution/workflow-code-error.ts"
import { decodeValue, encodeValue } from "../../core/values/value-codec.ts"
import type { Status } from "../../core/journal/status.ts"
import { storableError } from "../../core/values/storable-error.ts"
import type { SendOptions, SendOrStartOptions, StartOptions, TerminateOptions } from "../../engine/client-api.ts"
import type { EngineCore } from "../../engine/engine-core.ts"
import { existingRow } from "../../engine/instances/existing-row.ts"
import { readEndingEntry } from "../../engine/instances/ending-lookup.ts"
import { resultOf } from "../../engine/instances/result-waiters.ts"
import { result, sendOrStart } from "../../engine/instances/instance-calls.ts"
import type { EventMap } from "../../core/workflow/workflow.ts"
import { quickEndings } from "./start-with-result.ts"

/** Which part of a runner brings an answer that not every object has. */
export const partOfMethod = {
  describe: "history",
  steps: "history",
  history: "history",
  restart: "restarts",
  fork: "restarts",
  why: "why",
  changes: "changes",
  query: "queries",
  update: "queries",
} as const

export type InstanceMethod = keyof ReturnType<typeof coreRpcMethods> | keyof typeof partOfMethod

/** What the engine in an instance's object answers, by the methods of a client; the first argument is the id. */
export type RpcMethods = Readonly<Partial<Record<string, (id: string, ...args: never[]) => unknown>>>

/** What every object answers. */
export function coreRpcMethods(core: EngineCore) {
  const { store, starter, controls } = core.parts
  const nextTurn = quickEndings(core)
  return {
    start: async (id: string, workflow: string, options: StartOptions<unknown>, wantsResult?: boolean): Promise<string | Started> => {
      const isNew = wantsResult && (await store.directory.get(id)) === undefined
      const started = await starter.start(workflow, { ...options, id })
      if (!isNew || started !== id) return started
      const next = nextTurn()
      // As the start has left it, before it goes on: what an engine elsewhere answers, too.
      const status = (await store.directory.get(id))?.status
      await next
      // As it is now: it may have been restarted since, or deleted. What is wrong with it is told to whoever asks for its result.
      const ending = await readEndingEntry(store, id).catch(() => undefined)
      return { id, status, answer: ending && (await answerOf(() => resultOf(id, ending))) }
    },
    sendOrStart: async (id: string, workflow: string, options: SendOrStartOptions<unknown, EventMap, string>) => {
      await sendOrStart(core, workflow, { ...options, id })
      return id
    },
    status: async (id: string) => (await existingRow(store, id)).status,
    sendEvent: (id: string, type: string, payload: unknown, options: SendOptions = {}) => controls.sendEvent(id, type, payload, options),
    pause: (id: string, reason?: string) => controls.control(id, "pause", reason),
    resume: (id: string) => controls.control(id, "resume", undefined),
    cancel: (id: string, reason?: string) => controls.control(id, "cancel", reason),
    terminate: (id: string, options: string | TerminateOptions = {}) => controls.terminate(id, typeof options === "object" ? options : { reason: options }),
    result: (id: string, timeoutMs: number, rejectWhenStalled = false) => result(core, id, { timeout: timeoutMs, rejectWhenStalled }),
    delete: (id: string) => controls.delete(id),
  } satisfies RpcMethods
}

/** A new instance. */
export interface Started {
  readonly id: string
  /** With which the start was durable. */
  readonly status: Status | undefined
  /** What it would answer who asks for its result, if it was over at once. */
  readonly answer: string | undefined
}

/** Values go between objects and clients as they go into journals: what arrives is what was sent. */
export function encodeCall(value: unknown): string {
  return encodeValue(value, { bytesMax: Infinity })
}

export async function answerOf(answer: () => unknown): Promise<string> {
  try {
    return encodeCall({ value: await answer() })
  } catch (error) {
    return encodeFailure(error)
  }
}

/** Whatever was thrown arrives, with its class where that is known, and without what cannot be sent. */
function encodeFailure(error: unknown): string {
  const origin = isCodeError(error) ? { isOfCode: true } : undefined
  try {
    return encodeCall({ error, ...origin })
  } catch {
    return encodeCall({ error: storableError(error), ...origin })
  }
}

export function decodeAnswer(text: string): unknown {
  const answer = decodeValue(text) as { readonly value?: unknown } | { readonly error: unknown; readonly isOfCode?: true }
  if ("error" in answer) throw answer.isOfCode === true ? markCodeError(answer.error) : answer.error
  return answer.value
}
