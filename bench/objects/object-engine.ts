import type { DurableObjectNamespace } from "cloudflare:workers"

/** What every engine in the Worker is asked to do. */
export interface ObjectEngine {
  /** Before the clock runs. */
  prepare?(): Promise<void>
  /** From the start to the result, so many steps, one after another or at once. */
  run(steps: number, isParallel?: boolean): Promise<void>
  /** Starts one that waits for an event; what it gives sends that event and resolves when the instance has ended. Not of engines without events. */
  awaiting?(): Promise<() => Promise<void>>
  /** Starts one that waits for so many events; what it gives sends them at once and resolves when the instance has taken all of them. */
  taking?(events: number): Promise<() => Promise<void>>
  /** Resolves when a sleep has ended; what it gives says how many milliseconds late. */
  sleep(ms: number): Promise<() => Promise<number>>
  /** It is measured whether a step of a long sequence costs more. */
  readonly grows?: true
  /** The same writes without waiting for the disk after each. Only of the floor. */
  runCoalesced?(steps: number): Promise<void>
  /** `run` with what keeps it alive and makes it found, an alarm and an index, and with a call for the result. Only of the floor. */
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
