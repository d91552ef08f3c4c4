import { Payload } from "../../core/values/value-codec.ts"
import { endingError } from "../../core/journal/ending-error.ts"
import { shownError } from "../../core/values/redaction.ts"
import type { InstanceState } from "../../core/journal/instance-state.ts"
import type { Entry, EntryOf } from "../../core/journal/journal.ts"
import { mergeRetry, nextRetryMs } from "../../core/workflow/retry-policy.ts"
import { hookNames, type AnyWorkflow, type Hook, type HookEvent, type Hooks } from "../../core/workflow/workflow.ts"
import type { NewInstance } from "../../ports/journal-store.ts"
import type { RunnerContext } from "./runner-context.ts"
import type { TurnWriter } from "./turn-writer.ts"

const names = { completed: "onCompleted", failed: "onFailed", cancelled: "onCancelled", stalled: "onStalled" } as const

/** The hooks of an instance; undefined: neither its workflow nor the engine has any. */
export function hooksOf(context: RunnerContext, workflow: AnyWorkflow, identity: NewInstance, state: InstanceState): EndingHooks | undefined {
  return hasHooks(workflow.options) || hasHooks(context.settings.hooks) ? new EndingHooks(context, workflow, identity, state) : undefined
}

function hasHooks(hooks: Hooks): boolean {
  return hookNames.some((name) => hooks[name] !== undefined)
}

/**
 * Calls the hooks of one instance when its end, or its stall, is durable. An entry records that they were called. If the worker dies before that entry
 * is durable, they are called again: at least once.
 */
export class EndingHooks {
  readonly #context: RunnerContext
  readonly #workflow: AnyWorkflow
  readonly #identity: NewInstance
  readonly #state: InstanceState
  /** The ending whose hooks were called, or given up. */
  #handledEnding: Entry | undefined
  isCalling = false

  constructor(context: RunnerContext, workflow: AnyWorkflow, identity: NewInstance, state: InstanceState) {
    this.#context = context
    this.#workflow = workflow
    this.#identity = identity
    this.#state = state
  }

  get hasPending(): boolean {
    const ending = this.#ending
    return ending !== undefined && ending !== this.#handledEnding && this.#hooks.length > 0
  }

  /** No hook is left to call for the current ending. */
  markHandled(): void {
    this.#handledEnding = this.#ending
  }

  /** Calls the hooks and records that. If a retry is not due yet, it returns the time of the retry. */
  callIfDue(instance: HookedInstance, writer: TurnWriter): number | undefined {
    const { retryAt } = this.#state.hook
    if (retryAt !== undefined && retryAt > this.#context.host.now()) return retryAt
    this.#callAndRecord(instance, writer).catch((error: unknown) => instance.onLost({ error }))
    return undefined
  }

  async #callAndRecord(instance: HookedInstance, writer: TurnWriter): Promise<void> {
    const note = await this.#call()
    if (instance.isGone) return
    instance.record(note)
    writer.seal()
  }

  /** Calls all hooks, and returns the entry to record. If one throws, all of them are called again later. */
  async #call(): Promise<EntryOf<"hook.completed" | "hook.failed">> {
    const { host } = this.#context
    const status = this.#state.status as HookEvent["status"]
    const hook = names[status]
    const ending = this.#ending
    this.isCalling = true
    try {
      const event = this.#event(status, ending)
      const scope = { engine: this.#context.engine, instance: this.#identity.id }
      for (const call of this.#hooks) await host.runIn(scope, () => call(event))
      this.#handledEnding = ending
      return { type: "hook.completed", hook }
    } catch (error) {
      const attempt = this.#state.hook.failures + 1
      const { id } = this.#identity
      const delayMs = await this.#nextRetryMs(attempt, error)
      host.log.error(`the ${hook} hook of instance "${id}" failed${delayMs === undefined ? " and is given up" : ""}`, {
        instance: id,
        error: shownError(error),
      })
      if (delayMs === undefined) this.#handledEnding = ending
      const retry = delayMs === undefined ? undefined : { retryAt: host.now() + delayMs }
      return { type: "hook.failed", hook, attempt, value: Payload.ofError(error), ...retry }
    } finally {
      this.isCalling = false
    }
  }

  /** Undefined: no further try. A retry function that throws allows none. */
  async #nextRetryMs(failures: number, error: unknown): Promise<number | undefined> {
    const { host, settings } = this.#context
    const { id } = this.#identity
    try {
      return await nextRetryMs(mergeRetry(settings.retry), { failures, error, random: () => 0.5 })
    } catch (bad) {
      host.log.error(`the engine's retry function failed for a hook of instance "${id}"`, { instance: id, error: bad })
      return undefined
    }
  }

  get #ending(): Entry | undefined {
    return this.#state.ended?.entry ?? this.#state.stalled
  }

  /** The workflow's hook comes first, then the engine's. */
  get #hooks(): readonly Hook[] {
    const { status } = this.#state
    if (status !== "completed" && status !== "failed" && status !== "cancelled" && status !== "stalled") return []
    const name = names[status]
    return [this.#workflow.options[name], this.#context.settings.hooks[name]].filter((hook) => hook !== undefined)
  }

  #event(status: HookEvent["status"], ending: Entry | undefined): HookEvent {
    const { id, workflow, version } = this.#identity
    const base = { id, workflow, version, run: this.#state.run, status }
    if (ending?.type === "run.completed") return { ...base, result: ending.value.decode() }
    return ending === undefined ? base : { ...base, error: endingError(id, ending) }
  }
}

export interface HookedInstance {
  /** The instance has left memory. */
  readonly isGone: boolean
  record(entry: Entry): unknown
  onLost(result: { readonly error: unknown }): void
}
