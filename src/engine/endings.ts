import { endingError } from "../core/ending.ts"
import { PerdureError, ResultTimeoutError } from "../core/errors.ts"
import type { Entry } from "../core/journal.ts"
import type { Host } from "../ports/host.ts"
import type { Hint, Store } from "../ports/store.ts"
import type { Companion } from "./companion.ts"
import { lookForEnding } from "./ending-looks.ts"
import { Recheck, type RecheckSpec } from "./recheck.ts"
import type { TimerHandle, Timers } from "./timers.ts"

/** So many at a time are asked for. */
const looksMax = 64

/** Everybody who waits for an instance to end. Told by the runner where it is ours, else found out by asking the store. */
export class Endings implements Companion {
  readonly #store: Store
  readonly #host: Host
  readonly #timers: Timers
  readonly #ours: Ours
  readonly #waiters = new Map<string, Waiter[]>()
  readonly #recheck: Recheck

  constructor(store: Store, host: Host, recheck: RecheckSpec, ours: Ours) {
    this.#store = store
    this.#host = host
    this.#timers = recheck.timers
    this.#ours = ours
    this.#recheck = new Recheck(recheck, () => void this.check())
  }

  /** The entry that ended the instance, as soon as there is one. */
  wait(id: string, timeoutMs: number | undefined, isOurs: boolean, signal?: AbortSignal): Promise<Entry> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const waiter: Waiter = { resolve, reject, timer: undefined }
      if (signal) waiter.stopListening = whenAborted(signal, (reason) => this.#giveUp(id, waiter, reason))
      if (timeoutMs !== undefined)
        waiter.timer = this.#timers.set(this.#host.now() + timeoutMs, () => this.#giveUp(id, waiter, new ResultTimeoutError(id, timeoutMs)))
      const others = this.#waiters.get(id)
      if (others) others.push(waiter)
      else this.#waiters.set(id, [waiter])
      if (!isOurs) this.#look(id).catch((error: unknown) => this.#giveUp(id, waiter, error))
      this.#recheck.soon()
    })
  }

  ended(id: string, entry: Entry): void {
    for (const waiter of this.#take(id)) waiter.resolve(entry)
  }

  #fail(id: string, error: unknown): void {
    for (const waiter of this.#take(id)) waiter.reject(error)
  }

  #take(id: string): readonly Waiter[] {
    const waiters = this.#waiters.get(id)
    if (waiters === undefined) return []
    this.#waiters.delete(id)
    if (this.#waiters.size === 0) this.#recheck.never()
    for (const waiter of waiters) this.#forget(waiter)
    // Emptied: an old table of the map may still lead here, see Residency.
    return waiters.splice(0)
  }

  /** One of them waits no longer; the others do. */
  #giveUp(id: string, waiter: Waiter, error: unknown): void {
    const others = (this.#waiters.get(id) ?? []).filter((other) => other !== waiter)
    if (others.length > 0) this.#waiters.set(id, others)
    else this.#waiters.delete(id)
    if (this.#waiters.size === 0) this.#recheck.never()
    this.#forget(waiter)
    waiter.reject(error)
  }

  #forget({ timer, stopListening }: Waiter): void {
    this.#timers.clear(timer)
    stopListening?.()
  }

  async look({ ends }: Hint): Promise<void> {
    if (ends !== false) await this.check(ends === true ? undefined : ends)
  }

  /** Something may have changed in the store: asks for all of these, or of all, that somebody waits for and that is not ours. */
  async check(ids: Iterable<string> = this.#waiters.keys()): Promise<void> {
    const wanted = [...new Set(ids)].filter((id) => this.#waiters.has(id) && !this.#ours.holds(id))
    for (let from = 0; from < wanted.length; from += looksMax) await Promise.all(wanted.slice(from, from + looksMax).map((id) => this.#lookSafely(id)))
    if (this.#waiters.size > 0) this.#recheck.later()
  }

  async #lookSafely(id: string): Promise<void> {
    try {
      await this.#look(id)
    } catch (error) {
      // Whoever waits did not ask for this look: the next one may succeed.
      if (PerdureError.is(error, "NOT_FOUND")) this.#fail(id, error)
      else this.#host.log.error(`instance "${id}" could not be looked up; trying again`, { instance: id, error })
    }
  }

  close(error: unknown): void {
    for (const id of [...this.#waiters.keys()]) this.#fail(id, error)
  }

  async #look(id: string): Promise<void> {
    const ending = await lookForEnding(this.#store, id)
    if (ending) this.ended(id, ending)
  }
}

/** What is executed here. */
interface Ours {
  holds(id: string): boolean
}

interface Waiter {
  readonly resolve: (entry: Entry) => void
  readonly reject: (error: unknown) => void
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
  throw endingError(id, entry)
}

export function engineClosed(): PerdureError {
  return new PerdureError("ENGINE_CLOSED", "this engine is closed; open another with Perdure.open")
}
