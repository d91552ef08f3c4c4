import { markCodeError } from "../../core/execution/workflow-code-error.ts"
import { endingError, stallError } from "../../core/journal/ending-error.ts"
import { PerdureError, ResultTimeoutError } from "../../core/errors.ts"
import type { Entry, EntryOf } from "../../core/journal/journal.ts"
import type { Host } from "../../ports/host.ts"
import type { Store } from "../../ports/store.ts"
import type { EngineListener } from "../engine-listener.ts"
import { readEndingEntry, readStallEntry } from "./instance-lookup.ts"
import type { TimerHandle, Timers } from "../worker/timers.ts"

/** Everybody who waits for an instance to end. Told by whoever ends it here; whether it is over already is asked of the store. */
export class ResultWaiters implements EngineListener {
  readonly #store: Store
  protected readonly host: Host
  protected readonly timers: Timers
  protected readonly waiters = new Map<string, Waiter[]>()

  constructor(store: Store, host: Host, timers: Timers) {
    this.#store = store
    this.host = host
    this.timers = timers
  }

  /** The entry that ended the instance, as soon as there is one. `rejectsStall`: it rejects as soon as the instance is stalled. */
  wait(id: string, timeoutMs: number | undefined, isOurs: boolean, signal?: AbortSignal, rejectsStall = false): Promise<Entry> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const waiter: Waiter = { resolve, reject, rejectsStall, timer: undefined }
      if (signal) waiter.stopListening = whenAborted(signal, (reason) => this.#giveUp(id, waiter, reason))
      if (timeoutMs !== undefined) waiter.timer = this.timers.after(timeoutMs, () => this.#giveUp(id, waiter, new ResultTimeoutError(id, timeoutMs)))
      const others = this.waiters.get(id)
      if (others) others.push(waiter)
      else this.waiters.set(id, [waiter])
      // That it stalled may have been told before anybody waited, while it is still in memory here.
      if (!isOurs || rejectsStall) this.lookUp(id).catch((error: unknown) => this.#giveUp(id, waiter, error))
      this.onWaiting(true)
    })
  }

  /** Somebody new waits; or nobody does any more. */
  protected onWaiting(_isSomebody: boolean): void {}

  onInstanceEnded(id: string, entry: Entry): void {
    for (const waiter of this.#take(id)) waiter.resolve(entry)
  }

  onInstanceStalled(id: string, entry: EntryOf<"stalled">): void {
    for (const waiter of this.#concerned(id)) this.#giveUp(id, waiter, stallError(id, entry))
  }

  /** Those who do not wait for a stalled instance. */
  #concerned(id: string): readonly Waiter[] {
    return (this.waiters.get(id) ?? []).filter(({ rejectsStall }) => rejectsStall)
  }

  protected fail(id: string, error: unknown): void {
    for (const waiter of this.#take(id)) waiter.reject(error)
  }

  #take(id: string): readonly Waiter[] {
    const waiters = this.waiters.get(id)
    if (waiters === undefined) return []
    this.waiters.delete(id)
    if (this.waiters.size === 0) this.onWaiting(false)
    for (const waiter of waiters) this.#forget(waiter)
    // Emptied: an old table of the map may still lead here, see ResidentInstances.
    return waiters.splice(0)
  }

  /** One of them waits no longer; the others do. */
  #giveUp(id: string, waiter: Waiter, error: unknown): void {
    const others = (this.waiters.get(id) ?? []).filter((other) => other !== waiter)
    if (others.length > 0) this.waiters.set(id, others)
    else this.waiters.delete(id)
    if (this.waiters.size === 0) this.onWaiting(false)
    this.#forget(waiter)
    waiter.reject(error)
  }

  #forget({ timer, stopListening }: Waiter): void {
    this.timers.clear(timer)
    stopListening?.()
  }

  close(error: unknown): void {
    for (const id of [...this.waiters.keys()]) this.fail(id, error)
  }

  protected async lookUp(id: string): Promise<void> {
    const ending = await readEndingEntry(this.#store, id)
    if (ending) return this.onInstanceEnded(id, ending)
    const stall = this.#concerned(id).length > 0 ? await readStallEntry(this.#store, id) : undefined
    if (stall) this.onInstanceStalled(id, stall)
  }
}

interface Waiter {
  readonly resolve: (entry: Entry) => void
  readonly reject: (error: unknown) => void
  readonly rejectsStall: boolean
  timer: TimerHandle | undefined
  stopListening?: () => void
}

function whenAborted(signal: AbortSignal, listener: (reason: unknown) => void): () => void {
  const onAbort = () => listener(signal.reason)
  signal.addEventListener("abort", onAbort, { once: true })
  return () => signal.removeEventListener("abort", onAbort)
}

/** The result that an ending stands for; throws what it failed with. */
export function resultOf(id: string, entry: Entry): unknown {
  if (entry.type === "run.completed") return entry.value.decode()
  throw markCodeError(endingError(id, entry))
}

export function engineClosed(): PerdureError {
  return new PerdureError("ENGINE_CLOSED", "this engine is closed; open another with Perdure.open")
}
