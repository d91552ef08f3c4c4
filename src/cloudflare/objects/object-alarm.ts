import { isTerminal } from "../../core/journal/status.ts"
import type { ObjectTables, ObjectInstanceSummary } from "../../ports/cloudflare/object-tables.ts"
import { earliest, lookAgainAt, setAlarm, withinReach } from "./alarm-time.ts"
import type { ObjectHost } from "./object-host.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** While code of the instance runs, a watchdog alarm is set this far ahead. It wakes an object that was evicted; otherwise it only sets itself again. */
const watchdogMs = 10_000
/** An instance in memory that is due within this time is woken by a timer, because the object will still be loaded. */
const nearMs = 5_000
/** For such an instance the alarm is set this much later than the timer. Usually the timer makes it unnecessary. */
const spareMs = 500

/**
 * The object's single alarm. After every write it is set to the earliest time at which the object has to be awake: the instance is due, a message has
 * to be sent again, or the watchdog checks running code. The time is computed from the tables each time, so no earlier wake-up is forgotten. Setting an
 * alarm that is already set costs no write.
 */
export class ObjectAlarm {
  readonly #storage: ObjectStorage
  readonly #tables: ObjectTables
  readonly #host: ObjectHost
  /** When the earliest background sender has to try again. */
  readonly #retryAt: () => number | undefined
  /** The time of the alarm by the wall clock, which the platform uses. Undefined: no alarm is set, or it is not known. */
  #armedAt: number | undefined
  #isKnown = false

  constructor(storage: ObjectStorage, tables: ObjectTables, host: ObjectHost, retryAt: () => number | undefined) {
    this.#storage = storage
    this.#tables = tables
    this.#host = host
    this.#retryAt = retryAt
    // An object without tables has no alarm.
    this.#isKnown = !tables.isThere()
  }

  /** To be called when the alarm has fired: no alarm is set any more. */
  fired(): void {
    this.#armedAt = undefined
    this.#isKnown = true
  }

  /** To be called synchronously with each write, so that both become durable together. `isBusy`: another write follows soon, so the alarm is not deleted. */
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

  /** Sets the alarm to the watchdog's time, whatever the tables say. */
  armWatchdog(): void {
    const now = this.#host.now()
    this.#set(now + watchdogMs, now)
  }

  #set(at: number, now: number): void {
    const aheadMs = this.#host.aheadMs()
    this.#armedAt = at - aheadMs
    this.#isKnown = true
    setAlarm(this.#storage, this.#armedAt, now - aheadMs, this.#host.log)
  }

  /** The time of the next alarm. `isExact` false: an alarm that is set earlier may stay, because moving it would cost a write. */
  #nextAlarm(now: number): { readonly at?: number; readonly isExact: boolean } {
    if (!this.#tables.isThere()) return { isExact: true }
    const summary = this.#tables.summary()
    const work = summary && this.#workAt(summary, now)
    const fixedAt = earliest(this.#tables.refusalsExpireAt(), this.#host.nextAlarmTimerAt)
    const at = earliest(work?.at, fixedAt, this.#retryAt())
    if (at === undefined) return { isExact: true }
    const reachableAt = withinReach(at, now)
    const isExact = reachableAt === at && (at === fixedAt || (at === work?.at && work.isExact))
    return { at: Math.max(reachableAt, now), isExact }
  }

  /** When the object has to be awake for its instance. Undefined: the instance waits for a message. */
  #workAt(summary: ObjectInstanceSummary, now: number): { readonly at: number; readonly isExact: boolean } | undefined {
    const { status, isOwned, hasMessages, dueAt, claimableAt } = summary
    const isAtWork = isOwned && !isTerminal(status) && (status === "running" || status === "queued" || hasMessages)
    if (isAtWork) return { at: now + watchdogMs, isExact: false }
    const at = isOwned ? dueAt : claimableAt
    if (at === undefined) return undefined
    if (at > now) return { at: isOwned && at - now <= nearMs ? at + spareMs : at, isExact: true }
    // Either the instance is being claimed, or this Worker does not have the code of its version. Then the delay grows, so the alarm does not spin.
    return { at: lookAgainAt(at, now), isExact: false }
  }
}
