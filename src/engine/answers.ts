import { PerdureError } from "../core/errors.ts"
import type { EntryOf } from "../core/journal.ts"
import { isTerminal } from "../core/status.ts"
import { decodeRow } from "../core/turn-codec.ts"
import type { Host } from "../ports/host.ts"
import type { Store } from "../ports/store.ts"
import { notFound } from "./endings.ts"
import { Alarm, type Timers } from "./timers.ts"

/** How often whoever does not execute asks the store without a hint. */
const recheckMs = 1_000

type Answer = EntryOf<"update.completed" | "update.failed">

/** Everybody who waits for the answer to an update. Told by the runner where the instance is ours, else found in its journal. */
export class Answers {
  readonly #store: Store
  readonly #host: Host
  readonly #waiters = new Map<string, Waiter>()
  readonly #recheck: Alarm

  constructor(store: Store, host: Host, timers: Timers) {
    this.#store = store
    this.#host = host
    this.#recheck = new Alarm(timers, () => void this.check())
  }

  /** Resolves with what the update came to; `from` is a position before which its answer cannot be. */
  wait(instance: string, update: string, from: number): Promise<unknown> {
    const answer = new Promise<unknown>((resolve, reject) => this.#waiters.set(update, { instance, from, resolve, reject }))
    this.#checkLater()
    return answer
  }

  tell(entry: Answer): void {
    const waiter = this.#waiters.get(entry.update)
    if (waiter === undefined) return
    this.#waiters.delete(entry.update)
    if (entry.type === "update.completed") waiter.resolve(entry.value.decode())
    else waiter.reject(entry.value.decode())
  }

  /** Something may have changed in the store. */
  async check(): Promise<void> {
    for (const [update, waiter] of this.#waiters) {
      try {
        await this.#look(update, waiter)
      } catch (error) {
        if (PerdureError.is(error, "NOT_FOUND") || PerdureError.is(error, "INSTANCE_ENDED")) this.giveUp(update, error)
        else this.#host.log.error(`the answer to an update of instance "${waiter.instance}" could not be looked up; trying again`, { error })
      }
    }
    this.#checkLater()
  }

  close(error: unknown): void {
    for (const update of [...this.#waiters.keys()]) this.giveUp(update, error)
  }

  /** The row is read first: an answer that comes in between is found in the journal all the same. */
  async #look(update: string, waiter: Waiter): Promise<void> {
    const { instance } = waiter
    const row = await this.#store.directory.get(instance)
    if (row === undefined) throw notFound(instance)
    for (const item of (await this.#store.journal.readJournal(instance, waiter.from)).flatMap((journalRow) => decodeRow(journalRow))) {
      const { entry, position } = item
      waiter.from = position + 1
      if ((entry.type === "update.completed" || entry.type === "update.failed") && entry.update === update) return this.tell(entry)
    }
    if (isTerminal(row.status)) throw endedBefore(instance)
  }

  giveUp(update: string, error: unknown): void {
    const waiter = this.#waiters.get(update)
    this.#waiters.delete(update)
    waiter?.reject(error)
  }

  #checkLater(): void {
    this.#recheck.setTo(this.#waiters.size > 0 ? this.#host.now() + recheckMs : undefined)
  }
}

interface Waiter {
  readonly instance: string
  from: number
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

function endedBefore(instance: string): PerdureError {
  return new PerdureError("INSTANCE_ENDED", `instance "${instance}" ended before it answered the update; look at its result`, { details: { instance } })
}
