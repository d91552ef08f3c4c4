import type { UniqueUse } from "../../ports/flow-control.ts"
import type { Logger } from "../../ports/host.ts"
import type { LimitKey, SlotAnswer, SlotMember } from "../../ports/cloudflare/limit-key.ts"
import type { SlotRequests, SlotRequest } from "../../ports/cloudflare/slot-requests.ts"
import { RetryingTask } from "./retrying-task.ts"

const retryMs = 200
/** If the object is evicted while it takes keys, the alarm wakes it after this time. */
const backupMs = 10_000
/** A limit key tells a waiting instance when it has a slot. If that call is lost, the instance asks again after this time. */
const askAgainMs = 60_000

/** Returns the stub of a limit key's object. */
export type LimitAccess = (key: string) => LimitKey

/**
 * Requests the slots that the object's instance waits for, and returns the slots that it no longer wants. Only the answer to a request grants a slot:
 * a hint from a key makes the instance ask again. Calls run one at a time, so a return never overtakes a request.
 */
export class SlotRequester {
  readonly #requests: SlotRequests
  readonly #key: LimitAccess
  readonly #now: () => number
  readonly #task: RetryingTask
  #last: Promise<unknown> = Promise.resolve()
  /** How many calls are taking keys for an instance that does not exist yet. */
  #reserving = 0

  constructor(requests: SlotRequests, key: LimitAccess, now: () => number, log: Logger) {
    this.#requests = requests
    this.#key = key
    this.#now = now
    this.#task = new RetryingTask({ now, log, retryMs, failure: "a limit could not be asked" })
  }

  get retryAt(): number | undefined {
    return this.#task.retryAt
  }

  /** Sends what is pending: the instance may want other slots now, or a key may have a slot for it. */
  send(onDone: () => void, isRetry = false): void {
    if (!this.#task.tryStart(isRetry)) return
    const { asks, gives } = this.#requests.work()
    // A waiting instance does not ask again before a hint or its retry time.
    const isWaiting = asks.length > 0 && !isRetry && this.retryAt !== undefined
    if (gives.length === 0 && (asks.length === 0 || isWaiting)) {
      if (this.#reserving > 0) this.#task.idleUntil(this.#now() + backupMs)
      else if (asks.length === 0) this.#task.idleUntil()
      return
    }
    this.#task.begin(
      () => this.#inTurn(() => this.#sendAll()),
      () => this.send(onDone, true),
      onDone,
    )
  }

  /**
   * Takes unique keys for a new instance, and then calls `make`, which creates it. Undefined: another instance has one of the keys, or the object has
   * another instance. Keys that were taken in vain are returned, if necessary by the alarm, which `afterWrite` sets before the first call.
   */
  async withKeys<T>({ id, incarnation }: SlotMember, uses: readonly UniqueUse[], make: () => Promise<T>, afterWrite: () => void): Promise<T | undefined> {
    const member = { id, incarnation }
    this.#reserving++
    try {
      return await this.#inTurn(async () => {
        // Slots of an earlier incarnation are returned first, so that no request overwrites their rows.
        while (this.#requests.work().gives.length > 0) await this.#returnSlots()
        const asks = this.#requests.reserve(member, uses)
        if (asks === undefined) return undefined
        this.#task.idleUntil(this.#now() + backupMs)
        afterWrite()
        try {
          for (const { key, ask } of asks) {
            const { state } = await this.#key(key).slotAsk(ask)
            if (state !== "taken") return undefined
            this.#requests.granted(key)
          }
          return await make()
        } finally {
          this.#requests.settled(member, uses)
        }
      })
    } finally {
      this.#reserving--
      afterWrite()
    }
  }

  /** The slot that the instance waits for, and the present answer of its key. */
  async waitOf(): Promise<{ readonly ask: SlotRequest["ask"]; readonly answer: SlotAnswer } | undefined> {
    const [first] = this.#requests.work().asks
    return first && { ask: first.ask, answer: await this.#inTurn(() => this.#ask(first)) }
  }

  #inTurn<T>(call: () => Promise<T>): Promise<T> {
    const next = this.#last.then(call)
    this.#last = next.catch(() => undefined)
    return next
  }

  async #sendAll(): Promise<number | undefined> {
    for (;;) {
      this.#task.isRequested = false
      await this.#returnSlots()
      const answers = []
      for (const ask of this.#requests.work().asks) answers.push(await this.#ask(ask))
      const isWaiting = answers.some(({ state }) => state === "waiting")
      // An instance that got one slot may need the next one, and one that returned a slot may need another.
      const more = this.#requests.work()
      if (more.gives.length === 0 && (more.asks.length === 0 || (isWaiting && !this.#task.isRequested))) return this.#nextRunAt(isWaiting)
    }
  }

  #nextRunAt(isWaiting: boolean): number | undefined {
    if (this.#reserving > 0) return this.#now() + backupMs
    return isWaiting ? this.#now() + askAgainMs : undefined
  }

  async #returnSlots(): Promise<void> {
    for (const { key, member } of this.#requests.work().gives) {
      await this.#key(key).slotGive(member)
      this.#requests.returned(key)
    }
  }

  async #ask({ key, ask }: SlotRequest): Promise<SlotAnswer> {
    const answer = await this.#key(key).slotAsk(ask)
    if (answer.state === "taken" && this.#requests.holds(ask, key)) this.#requests.granted(key)
    return answer
  }
}
