import { endingError } from "../core/ending.ts"
import { PerdureError, ResultTimeoutError } from "../core/errors.ts"
import type { Entry } from "../core/journal.ts"
import { isTerminal } from "../core/status.ts"
import { decodeRow } from "../core/turn-codec.ts"
import type { Host } from "../ports/host.ts"
import type { InstanceRow } from "../ports/journal-store.ts"
import type { Store } from "../ports/store.ts"
import { Alarm, type Timers } from "./timers.ts"

/** How often whoever does not execute asks the store without a hint; it keeps the process alive, too. */
const recheckMs = 1_000

/** Everybody who waits for an instance to end. Told by the runner where it is ours, else found out by asking the store. */
export class Endings {
  readonly #store: Store
  readonly #host: Host
  readonly #timers: Timers
  readonly #ours: Ours
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #recheck: Alarm

  constructor(store: Store, host: Host, timers: Timers, ours: Ours) {
    this.#store = store
    this.#host = host
    this.#timers = timers
    this.#ours = ours
    this.#recheck = new Alarm(timers, () => void this.check().then(() => this.#checkLater()))
  }

  /** The entry that ended the instance, as soon as there is one. */
  wait(id: string, timeoutMs: number | undefined, isOurs: boolean): Promise<Entry> {
    return new Promise((resolve, reject) => {
      const timer =
        timeoutMs === undefined ? undefined : this.#timers.set(this.#host.now() + timeoutMs, () => settle(() => reject(new ResultTimeoutError(id, timeoutMs))))
      const settle = (then: () => void) => {
        this.#timers.clear(timer)
        const waiters = this.#waiters.get(id)
        waiters?.delete(waiter)
        if (waiters?.size === 0) this.#waiters.delete(id)
        if (this.#waiters.size === 0) this.#recheck.setTo(undefined)
        then()
      }
      const waiter: Waiter = { resolve: (entry) => settle(() => resolve(entry)), reject: (error) => settle(() => reject(error)) }
      const waiters = this.#waiters.get(id)
      if (waiters) waiters.add(waiter)
      else this.#waiters.set(id, new Set([waiter]))
      if (!isOurs) this.#look(id).catch(waiter.reject)
      this.#checkLater()
    })
  }

  /** The instance has ended. */
  tell(id: string, entry: Entry): void {
    for (const waiter of this.#waiters.get(id) ?? []) waiter.resolve(entry)
  }

  /** Something may have changed in the store: asks for all that somebody waits for and that is not ours. */
  async check(): Promise<void> {
    for (const id of [...this.#waiters.keys()]) {
      if (this.#ours.holds(id)) continue
      try {
        await this.#look(id)
      } catch (error) {
        // Whoever waits did not ask for this look: the next one may succeed.
        if (PerdureError.is(error, "NOT_FOUND")) for (const waiter of this.#waiters.get(id) ?? []) waiter.reject(error)
        else this.#host.log.error(`whether instance "${id}" has ended could not be looked up; trying again`, { instance: id, error })
      }
    }
  }

  close(error: unknown): void {
    for (const waiters of [...this.#waiters.values()]) for (const waiter of [...waiters]) waiter.reject(error)
  }

  async #look(id: string): Promise<void> {
    const row = await this.#store.directory.get(id)
    if (row === undefined) throw notFound(id)
    if (isTerminal(row.status)) this.tell(id, await readEnding(this.#store, row))
  }

  /** A worker sweeps anyway. */
  #checkLater(): void {
    if (this.#waiters.size > 0 && !this.#ours.active && !this.#recheck.isSet) this.#recheck.setTo(this.#host.now() + recheckMs)
  }
}

/** What is executed here. */
interface Ours {
  readonly active: boolean
  holds(id: string): boolean
}

interface Waiter {
  readonly resolve: (entry: Entry) => void
  readonly reject: (error: unknown) => void
}

/** The entry that ended the last run of an ended instance. */
async function readEnding(store: Store, row: InstanceRow): Promise<Entry> {
  const position = row.endPosition ?? row.runPosition
  const rows = await store.journal.readJournal(row.id, position)
  const ending = rows.flatMap((item) => decodeRow(item)).find((item) => item.position === position)
  if (ending === undefined)
    throw new PerdureError("STORE_FAILED", `the journal of instance "${row.id}" lacks its ending at position ${position}`, { details: { instance: row.id } })
  return ending.entry
}

/** The result that an ending stands for; throws what it failed with. */
export function resultOf(id: string, entry: Entry): unknown {
  if (entry.type === "run.completed") return entry.value.decode()
  throw endingError(id, entry)
}

export function notFound(id: string): PerdureError {
  return new PerdureError("NOT_FOUND", `there is no instance "${id}"; it was never started, or is deleted`, { details: { instance: id } })
}
