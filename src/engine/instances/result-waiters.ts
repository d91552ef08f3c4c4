import { markCodeError } from "../../core/execution/workflow-code-error.ts"
import { endingError, stallError } from "../../core/journal/ending-error.ts"
import { PerdureError, ResultTimeoutError } from "../../core/errors.ts"
import type { Entry, EntryOf } from "../../core/journal/journal.ts"
import type { Host } from "../../ports/host.ts"
import type { Store } from "../../ports/store.ts"
import type { EngineListener } from "../engine-listener.ts"
import { readEndingEntry, readStallEntry } from "./instance-lookup.ts"
import type { TimerHandle, Timers } from "../worker/timers.ts"

/** The callers that wait for instances to end. A runner in this process reports the end of its instance. The store tells whether an instance has ended before. */
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

  /** Resolves with the entry that ends the instance. With `rejectsStall` it rejects as soon as the instance is stalled. */
  wait(id: string, timeoutMs: number | undefined, isResidentHere: boolean, signal?: AbortSignal, rejectsStall = false): Promise<Entry> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const waiter: Waiter = { resolve, reject, rejectsStall, timer: undefined }
      if (signal) waiter.stopListening = whenAborted(signal, (reason) => this.#giveUp(id, waiter, reason))
      if (timeoutMs !== undefined) waiter.timer = this.timers.after(timeoutMs, () => this.#giveUp(id, waiter, new ResultTimeoutError(id, timeoutMs)))
      const existing = this.waiters.get(id)
      if (existing) existing.push(waiter)
      else this.waiters.set(id, [waiter])
      // An instance in memory reports its end, but its stall may have been reported before this call.
      if (!isResidentHere || rejectsStall) this.lookUp(id).catch((error: unknown) => this.#giveUp(id, waiter, error))
      this.onWaiting(true)
    })
  }

  /** A waiter was added (true), or the last one has left (false). */
  protected onWaiting(_isWaiting: boolean): void {}

  onInstanceEnded(id: string, entry: Entry): void {
    for (const waiter of this.#remove(id)) waiter.resolve(entry)
  }

  onInstanceStalled(id: string, entry: EntryOf<"stalled">): void {
    for (const waiter of this.#rejectingStall(id)) this.#giveUp(id, waiter, stallError(id, entry))
  }

  /** The waiters that reject when the instance is stalled. */
  #rejectingStall(id: string): readonly Waiter[] {
    return (this.waiters.get(id) ?? []).filter(({ rejectsStall }) => rejectsStall)
  }

  protected fail(id: string, error: unknown): void {
    for (const waiter of this.#remove(id)) waiter.reject(error)
  }

  #remove(id: string): readonly Waiter[] {
    const waiters = this.waiters.get(id)
    if (waiters === undefined) return []
    this.waiters.delete(id)
    if (this.waiters.size === 0) this.onWaiting(false)
    for (const waiter of waiters) this.#forget(waiter)
    return waiters
  }

  /** Rejects one waiter. The others go on waiting. */
  #giveUp(id: string, waiter: Waiter, error: unknown): void {
    const remaining = (this.waiters.get(id) ?? []).filter((other) => other !== waiter)
    if (remaining.length > 0) this.waiters.set(id, remaining)
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
    const stall = this.#rejectingStall(id).length > 0 ? await readStallEntry(this.#store, id) : undefined
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

/** Returns the result of a completed instance. Throws the error of one that ended otherwise. */
export function resultOf(id: string, entry: Entry): unknown {
  if (entry.type === "run.completed") return entry.value.decode()
  throw markCodeError(endingError(id, entry))
}

export function engineClosed(): PerdureError {
  return new PerdureError("ENGINE_CLOSED", "this engine is closed; open another with Perdure.open")
}
