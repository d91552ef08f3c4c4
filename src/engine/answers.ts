import { PerdureError } from "../core/errors.ts"
import type { EntryOf, Kept } from "../core/journal.ts"
import { isTerminal } from "../core/status.ts"
import { decodeRow } from "../core/turn-codec.ts"
import type { Host } from "../ports/host.ts"
import type { Hint, Store } from "../ports/store.ts"
import type { Companion } from "./companion.ts"
import { notFound } from "./ending-looks.ts"
import { Recheck, type RecheckSpec } from "./recheck.ts"

type Answer = EntryOf<"update.completed" | "update.failed">

/** Everybody who waits for the answer to an update. Told by the runner where the instance is ours, else found in its journal. */
export class Answers implements Companion {
  readonly #store: Store
  readonly #host: Host
  readonly #waiters = new Map<string, Waiter>()
  readonly #recheck: Recheck

  constructor(store: Store, host: Host, recheck: RecheckSpec) {
    this.#store = store
    this.#host = host
    this.#recheck = new Recheck(recheck, () => void this.check())
  }

  /** Resolves with what the update came to; `from` is a position before which its answer cannot be. */
  wait(instance: string, update: string, from: number): Promise<unknown> {
    const answer = new Promise<unknown>((resolve, reject) =>
      this.#waiters.set(update, { instance, from, isSent: false, acceptedAt: undefined, resolve, reject }),
    )
    this.#recheck.soon()
    return answer
  }

  /** It was delivered: from now on it is in the inbox or in the journal, or it was dropped. */
  sent(update: string): void {
    const waiter = this.#waiters.get(update)
    if (waiter) waiter.isSent = true
  }

  /** A run of the instance is over: what it has not answered it never will. */
  runOver(instance: string): void {
    for (const [update, waiter] of this.#waiters) if (waiter.instance === instance) void this.#lookSafely(update, waiter)
  }

  ended(instance: string): void {
    this.runOver(instance)
  }

  answered(entry: Answer): void {
    const waiter = this.#waiters.get(entry.update)
    if (waiter === undefined) return
    this.#waiters.delete(entry.update)
    if (entry.type === "update.completed") waiter.resolve(entry.value.decode())
    else waiter.reject(entry.value.decode())
  }

  async look({ answers }: Hint): Promise<void> {
    if (answers) await this.check()
  }

  /** Something may have changed in the store. */
  async check(): Promise<void> {
    for (const [update, waiter] of this.#waiters) await this.#lookSafely(update, waiter)
    if (this.#waiters.size > 0) this.#recheck.later()
    else this.#recheck.never()
  }

  close(error: unknown): void {
    for (const update of [...this.#waiters.keys()]) this.giveUp(update, error)
  }

  async #lookSafely(update: string, waiter: Waiter): Promise<void> {
    try {
      await this.#look(update, waiter)
    } catch (error) {
      if (PerdureError.is(error, "NOT_FOUND") || PerdureError.is(error, "INSTANCE_ENDED")) this.giveUp(update, error)
      else if (this.#waiters.has(update)) this.#host.log.error(`an answer of instance "${waiter.instance}" could not be looked up; trying again`, { error })
    }
  }

  /** The row is read first, then the inbox: what happens in between is found in the journal all the same. */
  async #look(update: string, waiter: Waiter): Promise<void> {
    const { instance, isSent } = waiter
    const { journal, directory } = this.#store
    const row = await directory.get(instance)
    if (row === undefined) throw notFound(instance)
    const isUnread = isSent && (await journal.readInbox([instance])).some(({ eventId }) => eventId === update)
    for (const { entry, position } of (await journal.readJournal(instance, waiter.from)).flatMap((journalRow) => decodeRow(journalRow))) {
      waiter.from = Math.max(waiter.from, position + 1)
      if ((entry.type === "update.completed" || entry.type === "update.failed") && entry.update === update) return this.answered(entry)
      if (entry.type === "update.accepted" && entry.update === update) waiter.acceptedAt = position
      if (entry.type === "run.started" && isLeftBehind(waiter.acceptedAt, position, entry.kept)) throw endedBefore(instance)
    }
    // A restart drops what is unread.
    const isDropped = isSent && !isUnread && waiter.acceptedAt === undefined
    if (isTerminal(row.status) || isDropped) throw endedBefore(instance)
  }

  giveUp(update: string, error: unknown): void {
    const waiter = this.#waiters.get(update)
    this.#waiters.delete(update)
    waiter?.reject(error)
  }
}

interface Waiter {
  readonly instance: string
  from: number
  isSent: boolean
  acceptedAt: number | undefined
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/** It was accepted by a run before the one that begins there, which does not keep it. */
function isLeftBehind(acceptedAt: number | undefined, position: number, kept: readonly Kept[] = []): boolean {
  return acceptedAt !== undefined && acceptedAt < position && !kept.some(({ from, to }) => acceptedAt >= from && acceptedAt <= to)
}

function endedBefore(instance: string): PerdureError {
  return new PerdureError("INSTANCE_ENDED", `instance "${instance}" ended, or began anew, before it answered the update; look at its result`, {
    details: { instance },
  })
}
