import { encodeError, Payload } from "../core/codec.ts"
import type { InstanceState } from "../core/instance-state.ts"
import type { EntryOf } from "../core/journal.ts"
import { mergeRetry, nextRetryMs } from "../core/retry-policy.ts"
import { endingError } from "../core/ending.ts"
import type { Hook, HookEvent, Hooks } from "../core/workflow.ts"
import type { NewInstance } from "../ports/journal-store.ts"
import type { Runtime } from "./runtime.ts"

const names = { completed: "onCompleted", failed: "onFailed", cancelled: "onCancelled", stalled: "onStalled" } as const

/** The hooks to call for the status that the instance has come to: the workflow's, then the engine's. */
export function hooksFor(engine: Hooks, workflow: Hooks, state: InstanceState): readonly Hook[] {
  const { status } = state
  if (status !== "completed" && status !== "failed" && status !== "cancelled" && status !== "stalled") return []
  const name = names[status]
  return [workflow[name], engine[name]].filter((hook) => hook !== undefined)
}

/** Calls the hooks and says what to record: they are called again, after a while, if one of them throws. */
export async function callHooks(
  runtime: Runtime,
  hooks: readonly Hook[],
  identity: NewInstance,
  state: InstanceState,
): Promise<EntryOf<"hook.completed" | "hook.failed">> {
  const status = state.status as HookEvent["status"]
  const hook = names[status]
  try {
    for (const call of hooks) await call(hookEvent(identity, state, status))
    return { type: "hook.completed", hook }
  } catch (error) {
    const attempt = state.hook.failures + 1
    const delayMs = nextRetryMs(mergeRetry(runtime.settings.retry, undefined, undefined), { failures: attempt, error, random: () => 0.5 })
    runtime.host.log.error(`the ${hook} hook of instance "${identity.id}" failed${delayMs === undefined ? " and is given up" : ""}`, {
      instance: identity.id,
      error,
    })
    const retry = delayMs === undefined ? undefined : { retryAt: runtime.host.now() + delayMs }
    return { type: "hook.failed", hook, attempt, value: Payload.of(encodeError(error)), ...retry }
  }
}

function hookEvent(identity: NewInstance, state: InstanceState, status: HookEvent["status"]): HookEvent {
  const base = { id: identity.id, workflow: identity.workflow, version: identity.version, run: state.run, status }
  const entry = state.ended?.entry ?? state.stalled
  if (entry?.type === "run.completed") return { ...base, result: entry.value.decode() }
  return entry === undefined ? base : { ...base, error: endingError(identity.id, entry) }
}
