import type { DurableObjectNamespace } from "cloudflare:workers"

/** The operations that every engine in the Worker is measured by. */
export interface ObjectEngine {
  /** Called before the time is measured. */
  prepare?(): Promise<void>
  /** Runs an instance from its start to its result, with `steps` steps one after another or at once. */
  run(steps: number, isParallel?: boolean): Promise<void>
  /** Starts an instance that waits for an event. The returned function sends this event, and resolves when the instance has ended. Engines without events lack it. */
  awaiting?(): Promise<() => Promise<void>>
  /** Starts an instance that waits for `events` events. The returned function sends them at once, and resolves when the instance has taken all of them. */
  taking?(events: number): Promise<() => Promise<void>>
  /** Resolves when a sleep has ended. The returned function returns how many milliseconds late it ended. */
  sleep(ms: number): Promise<() => Promise<number>>
  /** Set if long sequences are measured, to see whether their steps cost more. */
  readonly grows?: true
  /** The same writes as `run`, without waiting for the disk after each. Only the floor has it. */
  runCoalesced?(steps: number): Promise<void>
  /** `run` with an alarm, an update of the index, and a call for the result. Only the floor has it. */
  runWatched?(steps: number): Promise<void>
}

export interface WorkerEnv {
  readonly WORKFLOW_RUNNER: DurableObjectNamespace
  readonly BARE: DurableObjectNamespace
  readonly NATIVE: NativeBinding
}

export interface NativeBinding {
  create(options: { readonly params: object }): Promise<NativeInstance>
}

export interface NativeInstance {
  status(): Promise<{ readonly status: string; readonly output?: unknown; readonly error?: unknown }>
  sendEvent(event: { readonly type: string; readonly payload?: unknown }): Promise<void>
}

export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
