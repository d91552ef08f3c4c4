import type { UniqueUse } from "../../ports/flow-control.ts"
import type { Logger } from "../../ports/host.ts"
import type { LimitKey, SlotAnswer, SlotMember } from "../../ports/cloudflare/limit-key.ts"
import type { SlotRequests, SlotRequest } from "../../ports/cloudflare/object-permits.ts"
import { RetryingTask } from "./retrying-task.ts"

const retryMs = 200
/** An object that goes while it takes keys is woken after so long. */
const netMs = 10_000
/** Whoever waits is told. Should that be lost, it asks again by itself. */
const askAgainMs = 60_000

/** How a key is reached. */
export type LimitAccess = (key: string) => LimitKey

/**
 * Gets the slots that the object's instance waits for, and gives back those that it does not want any more. What counts is the answer to
 * the last question: a key that tells the instance of its slot only makes it ask again. One call goes on at a time, so nothing overtakes.
 */
export class SlotRequester {
  readonly #permits: SlotRequests
  readonly #key: LimitAccess
  readonly #now: () => number
  readonly #task: RetryingTask
  #last: Promise<unknown> = Promise.resolve()
  /** Calls under way that take keys for an instance that is about to be. */
  #reserving = 0

  constructor(permits: SlotRequests, key: LimitAccess, now: () => number, log: Logger) {
    this.#permits = permits
    this.#key = key
    this.#now = now
    this.#task = new RetryingTask({ now, log, retryMs, failure: "a limit could not be asked" })
  }

  get retryAt(): number | undefined {
    return this.#task.retryAt
  }

  /** What the instance wants may have changed, or one of its keys. */
  send(onDone: () => void, isRetry = false): void {
    if (!this.#task.tryStart(isRetry)) return
    const { asks, gives } = this.#permits.work()
    // Who waits is told, or asks again in a while.
    const isWaiting = asks.length > 0 && !isRetry && this.retryAt !== undefined
    if (gives.length === 0 && (asks.length === 0 || isWaiting)) {
      if (this.#reserving > 0) this.#task.idleUntil(this.#now() + netMs)
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
   * Takes keys for an instance that is about to be, and makes it. Undefined: another has one of them, or the object has another
   * instance. What is taken and not used goes back by itself, if need be by the alarm, which `onWritten` sets before anybody is asked.
   */
  async withKeys<T>({ id, incarnation }: SlotMember, uses: readonly UniqueUse[], make: () => Promise<T>, onWritten: () => void): Promise<T | undefined> {
    const member = { id, incarnation }
    this.#reserving++
    try {
      return await this.#inTurn(async () => {
        // What is there then is wanted: a row of another incarnation is never written over.
        while (this.#permits.work().gives.length > 0) await this.#giveBack()
        const asks = this.#permits.reserve(member, uses)
        if (asks === undefined) return undefined
        this.#task.idleUntil(this.#now() + netMs)
        onWritten()
        try {
          for (const { key, ask } of asks) {
            const { state } = await this.#key(key).slotAsk(ask)
            if (state !== "taken") return undefined
            this.#permits.granted(key)
          }
          return await make()
        } finally {
          this.#permits.settled(member, uses)
        }
      })
    } finally {
      this.#reserving--
      onWritten()
    }
  }

  /** What the instance waits for, as the key says now. */
  async waitOf(): Promise<{ readonly ask: SlotRequest["ask"]; readonly answer: SlotAnswer } | undefined> {
    const [first] = this.#permits.work().asks
    return first && { ask: first.ask, answer: await this.#inTurn(() => this.#ask(first)) }
  }

  #inTurn<T>(call: () => Promise<T>): Promise<T> {
    const next = this.#last.then(call)
    this.#last = next.catch(() => undefined)
    return next
  }

  async #sendAll(): Promise<number | undefined> {
    for (;;) {
      this.#task.isCalledFor = false
      await this.#giveBack()
      const answers = []
      for (const ask of this.#permits.work().asks) answers.push(await this.#ask(ask))
      const isWaiting = answers.some(({ state }) => state === "waiting")
      // Who got one slot may wait for the next; who gave one back may want another.
      const more = this.#permits.work()
      if (more.gives.length === 0 && (more.asks.length === 0 || (isWaiting && !this.#task.isCalledFor))) return this.#restAt(isWaiting)
    }
  }

  #restAt(isWaiting: boolean): number | undefined {
    if (this.#reserving > 0) return this.#now() + netMs
    return isWaiting ? this.#now() + askAgainMs : undefined
  }

  async #giveBack(): Promise<void> {
    for (const { key, member } of this.#permits.work().gives) {
      await this.#key(key).slotGive(member)
      this.#permits.returned(key)
    }
  }

  async #ask({ key, ask }: SlotRequest): Promise<SlotAnswer> {
    const answer = await this.#key(key).slotAsk(ask)
    if (answer.state === "taken" && this.#permits.holds(ask, key)) this.#permits.granted(key)
    return answer
  }
}
