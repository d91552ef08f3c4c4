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

/** The callers that wait for the answer to an update. A runner in this process reports the answer. Else it is found in the journal. */
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

  /** Resolves with the answer to the update. `from` is a position before the answer. */
  wait(instance: string, update: string, from: number): Promise<unknown> {
    const answer = new Promise<unknown>((resolve, reject) =>
      this.#waiters.set(update, { instance, from, isSent: false, acceptedAt: undefined, resolve, reject }),
    )
    this.#fallbackPoll.restart()
    return answer
  }

  /** The update was delivered: from now on it is in the inbox or in the journal, or a restart has dropped it. */
  sent(update: string): void {
    const waiter = this.#waiters.get(update)
    if (waiter) waiter.isSent = true
  }

  /** A run has ended. It never answers the updates that it has left open. */
  onRunEnded(instance: string): void {
    const waiters = this.#byInstance().get(instance)
    if (waiters) void this.#tryLookUp(instance, waiters)
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

  /** Looks up the answers of all open updates. */
  async check(): Promise<void> {
    for (const [instance, waiters] of this.#byInstance()) await this.#tryLookUp(instance, waiters)
    if (this.#waiters.size > 0) this.#fallbackPoll.continue()
    else this.#fallbackPoll.stop()
  }

  /** The waiters of each instance, because one look-up serves all of them. */
  #byInstance(): ReadonlyMap<string, Waiters> {
    const all = new Map<string, Map<string, Waiter>>()
    for (const [update, waiter] of this.#waiters) {
      const existing = all.get(waiter.instance)
      if (existing) existing.set(update, waiter)
      else all.set(waiter.instance, new Map([[update, waiter]]))
    }
    return all
  }

  close(error: unknown): void {
    for (const update of [...this.#waiters.keys()]) this.giveUp(update, error)
  }

  async #tryLookUp(instance: string, waiters: Waiters): Promise<void> {
    try {
      await this.#lookUp(instance, waiters)
    } catch (error) {
      if (PerdureError.is(error, "NOT_FOUND")) for (const update of waiters.keys()) this.giveUp(update, error)
      else if ([...waiters.keys()].some((update) => this.#waiters.has(update)))
        this.#host.log.error(`an answer of instance "${instance}" could not be looked up; trying again`, { error })
    }
  }

  /** Reads the row, then the inbox, then the journal. An update that is consumed between two reads is then found in the later one. */
  async #lookUp(instance: string, waiters: Waiters): Promise<void> {
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
        for (const [update, { acceptedAt }] of waiters) if (isAbandoned(acceptedAt, position, entry.kept)) this.giveUp(update, endedBefore(instance))
    }
    for (const waiter of waiters.values()) waiter.from = Math.max(waiter.from, next)
    // An update that is neither unread nor accepted was dropped by a restart.
    const dropped = sent.filter((update) => !unread.has(update) && waiters.get(update)?.acceptedAt === undefined)
    for (const update of isTerminal(row.status) ? waiters.keys() : dropped) this.giveUp(update, endedBefore(instance))
  }

  giveUp(update: string, error: unknown): void {
    const waiter = this.#waiters.get(update)
    this.#waiters.delete(update)
    waiter?.reject(error)
  }
}

/** The waiters of one instance, by the id of their update. */
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

/** True if an earlier run accepted the update, and the run that begins at `position` does not keep that entry. */
function isAbandoned(acceptedAt: number | undefined, position: number, kept: readonly Kept[] = []): boolean {
  return acceptedAt !== undefined && acceptedAt < position && !kept.some(({ from, to }) => acceptedAt >= from && acceptedAt <= to)
}

function endedBefore(instance: string): PerdureError {
  return new PerdureError("INSTANCE_ENDED", `instance "${instance}" ended, or began a new run, before it answered the update; look at its result`, {
    details: { instance },
  })
}
