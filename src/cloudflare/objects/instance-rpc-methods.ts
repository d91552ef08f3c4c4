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
import type { EngineCore } from "../../engine/engine-core.ts"
import { InstanceReader } from "../../engine/instances/instance-reader.ts"
import { QueryUpdateClient } from "../../engine/instances/query-update-client.ts"
import { Restarts } from "../../engine/instances/restarts.ts"
import { UpdateWaiters } from "../../engine/instances/update-waiters.ts"
import { fallbackPollOptions } from "../../engine/worker/fallback-poll.ts"
import { LocalInstanceCalls } from "../../engine/instances/local-instance-calls.ts"
import type { EventMap } from "../../core/workflow/workflow.ts"

export type InstanceMethod = keyof ReturnType<typeof rpcMethods>

/** The RPC methods of an instance's object, by the names of the methods of a client. The first argument is the id of the instance. */
export type RpcMethods = Readonly<Partial<Record<string, (id: string, ...args: never[]) => unknown>>>

export function rpcMethods(core: EngineCore) {
  const { store, host, registry, worker, settings, starter } = core.components
  const reader = new InstanceReader(store, settings.codecs)
  const restarts = new Restarts(store, registry, worker)
  const updateWaiters = core.attach(new UpdateWaiters(store, host, fallbackPollOptions(core.components)))
  const queryUpdateClient = new QueryUpdateClient(store, registry, worker, updateWaiters)
  const calls = new LocalInstanceCalls(core, { reader, restarts, queryUpdateClient })
  return {
    start: (id: string, workflow: string, options: StartOptions<unknown>) => starter.start(workflow, { ...options, id }),
    sendOrStart: async (id: string, workflow: string, options: SendOrStartOptions<unknown, EventMap, string>) => {
      await calls.sendOrStart(workflow, { ...options, id })
      return id
    },
    status: (id: string) => calls.status(id),
    describe: (id: string) => calls.describe(id),
    steps: (id: string) => calls.steps(id),
    history: (id: string, options: HistoryOptions = {}) => calls.history(id, options),
    why: (id: string) => calls.why(id),
    changes: (id: string, cursor: string | undefined) => readChanges(store.directory, id, cursor),
    result: (id: string, timeoutMs: number, rejectWhenStalled = false) => calls.result(id, { timeout: timeoutMs, rejectWhenStalled }),
    sendEvent: (id: string, type: string, payload: unknown, options: SendOptions = {}) => calls.sendEvent(id, type, payload, options),
    query: (id: string, name: string, args: readonly unknown[]) => calls.query(id, name, args),
    update: (id: string, name: string, args: readonly unknown[]) => calls.update(id, name, args),
    pause: (id: string, reason?: string) => calls.pause(id, reason),
    resume: (id: string) => calls.resume(id),
    cancel: (id: string, reason?: string) => calls.cancel(id, reason),
    terminate: (id: string, options: TerminateOptions = {}) => calls.terminate(id, options),
    restart: (id: string, options: RestartOptions = {}) => calls.restart(id, options),
    fork: (id: string, options: ForkOptions) => calls.fork(id, options),
    delete: (id: string) => calls.delete(id),
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
