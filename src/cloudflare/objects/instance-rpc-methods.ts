import { isCodeError, markCodeError } from "../../core/execution/workflow-code-error.ts"
import { decodeValue, encodeValue } from "../../core/values/value-codec.ts"
import { storableError } from "../../core/values/storable-error.ts"
import { readChanges } from "../../engine/changes/change-batch.ts"
import type {
  ForkOptions,
  HistoryOptions,
  RestartOptions,
  SendOptions,
  SendOrStartOptions,
  StartOptions,
  TerminateOptions,
} from "../../client-api/client-api.ts"
import { readWhy } from "../../engine/diagnostics/why-reader.ts"
import type { EngineCore } from "../../engine/engine-core.ts"
import { existingRow } from "../../engine/instances/instance-lookup.ts"
import { InstanceReader } from "../../engine/instances/instance-reader.ts"
import { QueryUpdateClient } from "../../engine/instances/query-update-client.ts"
import { Restarts } from "../../engine/instances/restarts.ts"
import { UpdateWaiters } from "../../engine/instances/update-waiters.ts"
import { fallbackPollOptions } from "../../engine/worker/fallback-poll.ts"
import { refuseSelf, result, sendOrStart } from "../../engine/instances/instance-calls.ts"
import type { EventMap } from "../../core/workflow/workflow.ts"

export type InstanceMethod = keyof ReturnType<typeof rpcMethods>

/** The RPC methods of an instance's object, by the names of the methods of a client. The first argument is the id of the instance. */
export type RpcMethods = Readonly<Partial<Record<string, (id: string, ...args: never[]) => unknown>>>

export function rpcMethods(core: EngineCore) {
  const { store, host, registry, worker, settings, starter, controls } = core.parts
  const reader = new InstanceReader(store, settings.codecs)
  const restarts = new Restarts(store, registry, worker)
  const updateWaiters = core.attach(new UpdateWaiters(store, host, fallbackPollOptions(core.parts)))
  const queryUpdateClient = new QueryUpdateClient(store, registry, worker, updateWaiters)
  return {
    start: (id: string, workflow: string, options: StartOptions<unknown>) => starter.start(workflow, { ...options, id }),
    sendOrStart: async (id: string, workflow: string, options: SendOrStartOptions<unknown, EventMap, string>) => {
      await sendOrStart(core, workflow, { ...options, id })
      return id
    },
    status: async (id: string) => (await existingRow(store, id)).status,
    describe: (id: string) => reader.describe(id),
    steps: (id: string) => reader.steps(id),
    history: (id: string, options: HistoryOptions = {}) => reader.history(id, options),
    why: (id: string) => readWhy(core, id),
    changes: (id: string, cursor: string | undefined) => readChanges(store.directory, id, cursor),
    result: (id: string, timeoutMs: number, rejectWhenStalled = false) => result(core, id, { timeout: timeoutMs, rejectWhenStalled }),
    sendEvent: (id: string, type: string, payload: unknown, options: SendOptions = {}) => controls.sendEvent(id, type, payload, options),
    query: (id: string, name: string, args: readonly unknown[]) => queryUpdateClient.query(id, name, args),
    update: async (id: string, name: string, args: readonly unknown[]) => {
      refuseSelf(core.parts, id, "updates itself and waits for its own answer")
      return queryUpdateClient.update(id, name, args)
    },
    pause: (id: string, reason?: string) => controls.control(id, "pause", reason),
    resume: (id: string) => controls.control(id, "resume", undefined),
    cancel: (id: string, reason?: string) => controls.control(id, "cancel", reason),
    terminate: (id: string, options: string | TerminateOptions = {}) => controls.terminate(id, typeof options === "object" ? options : { reason: options }),
    restart: (id: string, options: RestartOptions = {}) => restarts.restart(id, options),
    fork: (id: string, options: ForkOptions) => restarts.fork(id, options),
    delete: (id: string) => controls.delete(id),
  } satisfies RpcMethods
}

/** Values between objects and clients are encoded as in journals, so every value that a journal can hold arrives unchanged. */
export function encodeCall(value: unknown): string {
  return encodeValue(value, { bytesMax: Infinity })
}

/** Runs a method, and encodes its result or its error. */
export async function encodeAnswer(run: () => unknown): Promise<string> {
  try {
    return encodeCall({ value: await run() })
  } catch (error) {
    return encodeFailure(error)
  }
}

/** Encodes whatever was thrown. Data fields that cannot be encoded are left out. */
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
