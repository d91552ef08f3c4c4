import { isTerminal } from "../../core/journal/status.ts"
import type { ObjectTables, ObjectInstanceSummary } from "../../ports/cloudflare/object-tables.ts"
import { earliest, lookAgainAt, setAlarm, withinReach } from "./alarm-time.ts"
import type { ObjectHost } from "./object-host.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** An object that goes while code of its instance runs is woken after so long; an alarm that finds it at work only keeps it alive. */
const watchdogMs = 10_000
/** Who is in memory, and due so soon that it is still there then, is woken by a timer. The alarm is for an object that has gone all the same: */
const nearMs = 5_000
/** it comes so much later, and mostly need not come at all. */
const spareMs = 500

/**
 * Sets the object's one alarm to the first of all times at which it has to be awake, as the tables tell it: so nothing that was set
 * before can be forgotten. What is set already costs no write.
 */
export class ObjectAlarm {
  readonly #storage: ObjectStorage
  readonly #tables: ObjectTables
  readonly #host: ObjectHost
  /** When what this object has to tell others is to be tried again. */
  readonly #retryAt: () => number | undefined
  /** By the wall clock, as the platform's alarm is. Undefined: none, or not known. */
  #armedAt: number | undefined
  #isKnown = false

  constructor(storage: ObjectStorage, tables: ObjectTables, host: ObjectHost, retryAt: () => number | undefined) {
    this.#storage = storage
    this.#tables = tables
    this.#host = host
    this.#retryAt = retryAt
    // Where nothing is, no alarm is either.
    this.#isKnown = !tables.isThere()
  }

  /** The alarm that was set is no more. */
  fired(): void {
    this.#armedAt = undefined
    this.#isKnown = true
  }

  /** To be called in the same breath as each write: both become durable together. `isBusy`: what is set stays, as something is about to be written. */
  update(isBusy = false): void {
    const now = this.#host.now()
    const { at, isExact } = this.#nextAlarm(now)
    if (at === undefined && isBusy) return
    if (at === undefined) {
      if (this.#armedAt === undefined && this.#isKnown) return
      this.#armedAt = undefined
      this.#isKnown = true
      void this.#storage.deleteAlarm()
      return
    }
    const wallAt = at - this.#host.aheadMs()
    const isSet = this.#armedAt !== undefined && (isExact ? this.#armedAt === wallAt : this.#armedAt <= wallAt)
    if (!isSet) this.#set(at, now)
  }

  /** Whatever else is wrong, the object looks again. */
  rearmSoon(): void {
    const now = this.#host.now()
    this.#set(now + watchdogMs, now)
  }

  #set(at: number, now: number): void {
    const aheadMs = this.#host.aheadMs()
    this.#armedAt = at - aheadMs
    this.#isKnown = true
    setAlarm(this.#storage, this.#armedAt, now - aheadMs, this.#host.log)
  }

  /** Not exact: an earlier one does no harm, and to move it would cost a write. */
  #nextAlarm(now: number): { readonly at?: number; readonly isExact: boolean } {
    if (!this.#tables.isThere()) return { isExact: true }
    const summary = this.#tables.summary()
    const work = summary && this.#workAt(summary, now)
    const kept = earliest(this.#tables.keptUntil(), this.#host.nextAlarmTimerAt)
    const tryAt = this.#retryAt()
    const at = earliest(work?.at, kept, tryAt)
    if (at === undefined) return { isExact: true }
    const near = withinReach(at, now)
    const isExact = near === at && (at === kept || (at === work?.at && work.isExact))
    return { at: Math.max(near, now), isExact }
  }

  #workAt(summary: ObjectInstanceSummary, now: number): { readonly at: number; readonly isExact: boolean } | undefined {
    const { status, isOwned, hasMessages, dueAt, claimableAt } = summary
    const isAtWork = isOwned && !isTerminal(status) && (status === "running" || status === "queued" || hasMessages)
    if (isAtWork) return { at: now + watchdogMs, isExact: false }
    const at = isOwned ? dueAt : claimableAt
    if (at === undefined) return undefined
    if (at > now) return { at: isOwned && at - now <= nearMs ? at + spareMs : at, isExact: true }
    // It is being claimed, or nobody here has the code of its version: then it is not to be tried in a hot loop.
    return { at: lookAgainAt(at, now), isExact: false }
  }
}
