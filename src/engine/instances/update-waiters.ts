import { markCodeError } from "../../core/execution/workflow-code-error.ts"
import { PerdureError } from "../../core/errors.ts"
import type { EntryOf, Kept } from "../../core/journal/journal.ts"
import { isTerminal } from "../../core/journal/status.ts"
import { decodeRow } from "../../core/journal/turn-codec.ts"
import type { Host } from "../../ports/host.ts"
import type { Hint, Store } from "../../ports/store.ts"
import type { EngineListener } from "../engine-listener.ts"
import { notFound } from "./instance-errors.ts"
import { FallbackPoll, type FallbackPollOptions } from "../worker/fallback-poll.ts"

type Answer = EntryOf<"update.completed" | "update.failed">

/** Everybody who waits for the answer to an update. Told by the runner where the instance is ours, else found in its journal. */
export class UpdateWaiters implements EngineListener {
  readonly #store: Store
  readonly #host: Host
  readonly #waiters = new Map<string, Waiter>()
  readonly #fallbackPoll: FallbackPoll

  constructor(store: Store, host: Host, pollOptions: FallbackPollOptions) {
    this.#store = store
    this.#host = host
    this.#fallbackPoll = new FallbackPoll(pollOptions, () => void this.check())
  }

  /** Resolves with what the update came to; `from` is a position before which its answer cannot be. */
  wait(instance: string, update: string, from: number): Promise<unknown> {
    const answer = new Promise<unknown>((resolve, reject) =>
      this.#waiters.set(update, { instance, from, isSent: false, acceptedAt: undefined, resolve, reject }),
    )
    this.#fallbackPoll.restart()
    return answer
  }

  /** It was delivered: from now on it is in the inbox or in the journal, or it was dropped. */
  sent(update: string): void {
    const waiter = this.#waiters.get(update)
    if (waiter) waiter.isSent = true
  }

  /** A run of the instance is over: what it has not answered it never will. */
  onRunEnded(instance: string): void {
    const waiters = this.#byInstance().get(instance)
    if (waiters) void this.#lookSafely(instance, waiters)
  }

  onInstanceEnded(instance: string): void {
    this.onRunEnded(instance)
  }

  onUpdateAnswered(entry: Answer): void {
    const waiter = this.#waiters.get(entry.update)
    if (waiter === undefined) return
    this.#waiters.delete(entry.update)
    if (entry.type === "update.completed") waiter.resolve(entry.value.decode())
    else waiter.reject(markCodeError(entry.value.decode()))
  }

  async refresh({ updatesAnswered }: Hint): Promise<void> {
    if (updatesAnswered) await this.check()
  }

  /** Something may have changed in the store. */
  async check(): Promise<void> {
    for (const [instance, waiters] of this.#byInstance()) await this.#lookSafely(instance, waiters)
    if (this.#waiters.size > 0) this.#fallbackPoll.continue()
    else this.#fallbackPoll.stop()
  }

  /** Whoever waits for the same instance is served by one look at it. */
  #byInstance(): ReadonlyMap<string, Waiters> {
    const all = new Map<string, Map<string, Waiter>>()
    for (const [update, waiter] of this.#waiters) {
      const others = all.get(waiter.instance)
      if (others) others.set(update, waiter)
      else all.set(waiter.instance, new Map([[update, waiter]]))
    }
    return all
  }

  close(error: unknown): void {
    for (const update of [...this.#waiters.keys()]) this.giveUp(update, error)
  }

  async #lookSafely(instance: string, waiters: Waiters): Promise<void> {
    try {
      await this.#look(instance, waiters)
    } catch (error) {
      if (PerdureError.is(error, "NOT_FOUND")) for (const update of waiters.keys()) this.giveUp(update, error)
      else if ([...waiters.keys()].some((update) => this.#waiters.has(update)))
        this.#host.log.error(`an answer of instance "${instance}" could not be looked up; trying again`, { error })
    }
  }

  /** The row is read first, then the inbox: what happens in between is found in the journal all the same. */
  async #look(instance: string, waiters: Waiters): Promise<void> {
    const { journal, directory } = this.#store
    const sent = [...waiters.keys()].filter((update) => waiters.get(update)?.isSent)
    const row = await directory.get(instance)
    if (row === undefined) throw notFound(instance)
    const unread = new Set(sent.length === 0 ? [] : (await journal.readInbox([instance])).map(({ eventId }) => eventId))
    let from = Infinity
    for (const waiter of waiters.values()) from = Math.min(from, waiter.from)
    let next = from
    for (const { entry, position } of (await journal.readJournal(instance, from)).flatMap((journalRow) => decodeRow(journalRow))) {
      next = Math.max(next, position + 1)
      if (entry.type === "update.completed" || entry.type === "update.failed") this.onUpdateAnswered(entry)
      if (entry.type === "update.accepted") accept(waiters.get(entry.update), position)
      if (entry.type === "run.started")
        for (const [update, { acceptedAt }] of waiters) if (isLeftBehind(acceptedAt, position, entry.kept)) this.giveUp(update, endedBefore(instance))
    }
    for (const waiter of waiters.values()) waiter.from = Math.max(waiter.from, next)
    // A restart drops what is unread.
    const dropped = sent.filter((update) => !unread.has(update) && waiters.get(update)?.acceptedAt === undefined)
    for (const update of isTerminal(row.status) ? waiters.keys() : dropped) this.giveUp(update, endedBefore(instance))
  }

  giveUp(update: string, error: unknown): void {
    const waiter = this.#waiters.get(update)
    this.#waiters.delete(update)
    waiter?.reject(error)
  }
}

/** Of one instance, by their updates. */
type Waiters = ReadonlyMap<string, Waiter>

interface Waiter {
  readonly instance: string
  from: number
  isSent: boolean
  acceptedAt: number | undefined
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

function accept(waiter: Waiter | undefined, position: number): void {
  if (waiter) waiter.acceptedAt = position
}

/** It was accepted by a run before the one that begins there, which does not keep it. */
function isLeftBehind(acceptedAt: number | undefined, position: number, kept: readonly Kept[] = []): boolean {
  return acceptedAt !== undefined && acceptedAt < position && !kept.some(({ from, to }) => acceptedAt >= from && acceptedAt <= to)
}

function endedBefore(instance: string): PerdureError {
  return new PerdureError("INSTANCE_ENDED", `instance "${instance}" ended, or began a new run, before it answered the update; look at its result`, {
    details: { instance },
  })
}
