import { AsyncResource } from "node:async_hooks"
import { setTimeout as delay } from "node:timers/promises"
import { PerdureError } from "../../../core/errors.ts"
import { storeClosedError } from "../../shared/store-error.ts"

/** The part of the driver that the queue needs. */
export interface LockedDatabase {
  /**
   * The error of the last statement that met the lock of another connection while no transaction of this connection was open. Asking for
   * the error forgets it. Undefined: no statement met a lock.
   */
  takeRefusal(): Error | undefined
}

/** The first pauses between two tries. The last pause repeats: a try costs some microseconds, and a freed lock is found soon. */
const pausesMs = [1, 1, 2, 3, 5, 8, 12, 20]
/** A long queue is written in parts of this length, so that timers and requests run in between. */
const partMs = 10

/**
 * Queues calls to a store while another process holds the write lock of its file. SQLite itself would wait for the lock inside a statement, and
 * nothing else in this process would run meanwhile. So the driver does not wait at all, and this queue retries by timers:
 *
 *   the lock is free            the call runs at once, in the caller's own macrotask
 *   BEGIN IMMEDIATE is refused  the call waits in the queue, and so does each later write, in the order of the calls
 *   a timer fires               the first call is tried again; once it has run, those behind it follow
 *   the time to wait is over    the call rejects with what SQLite said: DATABASE_BUSY
 *
 * A call that was refused may run again as a whole: a refused BEGIN IMMEDIATE has opened no transaction, and no code ran inside one, so
 * nothing was written. Calls are methods of the SQL classes, which do all their work before they return their promise.
 */
export class LockQueue {
  readonly #database: LockedDatabase
  readonly #waitMsMax: number
  readonly #waiting: WaitingCall[] = []
  #tries = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(database: LockedDatabase, waitMsMax: number) {
    this.#database = database
    this.#waitMsMax = waitMsMax
  }

  /** A call that writes. It does not overtake a write that waits. */
  write<T>(call: () => Promise<T>): Promise<T> {
    return this.#waiting.length > 0 ? this.#wait(call) : this.read(call)
  }

  /** A call that only reads runs at once. In WAL mode nothing refuses a read but the recovery of a log, which takes milliseconds. */
  read<T>(call: () => Promise<T>): Promise<T> {
    this.#database.takeRefusal()
    const result = call()
    if (this.#database.takeRefusal() === undefined || this.#waitMsMax === 0) return result
    result.catch(() => undefined)
    return this.#wait(call)
  }

  /** Rejects all calls that wait. */
  close(): void {
    clearTimeout(this.#timer)
    for (const { reject } of this.#waiting.splice(0)) reject(storeClosedError())
  }

  #wait<T>(call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      // The function of a transaction runs in the async context of its step, and not in that of the timer.
      const run = AsyncResource.bind(() => {
        const result = call()
        const refusal = this.#database.takeRefusal()
        if (refusal === undefined) resolve(result)
        else result.catch(() => undefined)
        return refusal
      })
      this.#waiting.push({ run, reject, endsAt: performance.now() + this.#waitMsMax })
      // With more calls waiting, a timer is set already, or `#tryAll` runs right now.
      if (this.#waiting.length === 1) this.#tryLater()
    })
  }

  #tryLater(): void {
    // The timer keeps the process alive, because a caller waits for the result.
    this.#timer = setTimeout(() => this.#tryAll(), pauseMs(this.#tries++))
  }

  #tryAll(): void {
    const pauseAt = performance.now() + partMs
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      this.#database.takeRefusal()
      const refusal = first.run()
      if (refusal === undefined) this.#tries = 0
      else if (performance.now() < first.endsAt) return this.#tryLater()
      else first.reject(refusal)
      // Removed only now, so that a call from a listener waits behind the calls in the queue.
      this.#waiting.shift()
      if (performance.now() >= pauseAt && this.#waiting.length > 0) {
        this.#timer = setTimeout(() => this.#tryAll(), 0)
        return
      }
    }
    this.#tries = 0
  }
}

interface WaitingCall {
  /** Makes the call. Returns the refusal if there was one; otherwise the caller has got its result. */
  readonly run: () => Error | undefined
  readonly reject: (error: Error) => void
  readonly endsAt: number
}

/** Opens a file that another process may keep locked, and tries again for as long as a write would. `open` leaves nothing behind if it throws. */
export async function onceUnlocked<T>(open: () => T, waitMsMax: number): Promise<T> {
  const endsAt = performance.now() + waitMsMax
  for (let tries = 0; ; tries++) {
    try {
      return open()
    } catch (error) {
      if (!PerdureError.is(error, "DATABASE_BUSY") || performance.now() >= endsAt) throw error
    }
    await delay(pauseMs(tries))
  }
}

function pauseMs(tries: number): number {
  return pausesMs[Math.min(tries, pausesMs.length - 1)] ?? 0
}
