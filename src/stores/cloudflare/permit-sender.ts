import type { UniqueUse } from "../../ports/flow-control.ts"
import type { Logger } from "../../ports/host.ts"
import type { LimitKey, SlotAnswer, SlotMember } from "../../ports/limit-key.ts"
import type { ObjectPermits, PermitAsk } from "../../ports/object-permits.ts"

const retryMs = 200
const retryMsMax = 60_000
/** An object that goes while it asks is woken after so long. */
const netMs = 10_000
/** Whoever waits is told. Should that be lost, it asks again by itself. */
const askAgainMs = 60_000

/** How a key is reached. */
export type LimitAccess = (key: string) => LimitKey

/**
 * Gets the slots that the object's instance waits for, and gives back those that it does not want any more. What counts is the answer to
 * the last question: a key that tells the instance of its slot only makes it ask again. One call goes on at a time, so nothing overtakes.
 */
export class PermitSender {
  readonly #permits: ObjectPermits
  readonly #key: LimitAccess
  readonly #now: () => number
  readonly #log: Logger
  #last: Promise<unknown> = Promise.resolve()
  #isSending = false
  #isWanted = false
  #failures = 0
  #nextTryAt: number | undefined
  /** Calls under way that take keys for an instance that is about to be. */
  #reserving = 0

  constructor(permits: ObjectPermits, key: LimitAccess, now: () => number, log: Logger) {
    this.#permits = permits
    this.#key = key
    this.#now = now
    this.#log = log
  }

  get nextTryAt(): number | undefined {
    return this.#nextTryAt
  }

  /** What the instance wants may have changed, or one of its keys. */
  send(onDone: () => void, isRetry = false): void {
    if (this.#isSending) {
      this.#isWanted = true
      return
    }
    const { asks, gives } = this.#permits.work()
    if (gives.length === 0 && (asks.length === 0 || (!isRetry && this.#nextTryAt !== undefined))) {
      if (this.#reserving > 0) this.#nextTryAt = this.#now() + netMs
      else if (asks.length === 0) this.#nextTryAt = undefined
      return
    }
    if (!isRetry && this.#failures > 0) return
    this.#isSending = true
    this.#nextTryAt = this.#now() + netMs
    void this.#inTurn(() => this.#sendAll()).finally(() => {
      this.#isSending = false
      // What was wanted since the last look found it under way.
      if (this.#isWanted && this.#failures === 0) this.send(onDone, true)
      onDone()
    })
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
        this.#nextTryAt = this.#now() + netMs
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
  async waitOf(): Promise<{ readonly ask: PermitAsk["ask"]; readonly answer: SlotAnswer } | undefined> {
    const [first] = this.#permits.work().asks
    return first && { ask: first.ask, answer: await this.#inTurn(() => this.#ask(first)) }
  }

  #inTurn<T>(call: () => Promise<T>): Promise<T> {
    const next = this.#last.then(call)
    this.#last = next.catch(() => undefined)
    return next
  }

  async #sendAll(): Promise<void> {
    try {
      for (;;) {
        this.#isWanted = false
        await this.#giveBack()
        const answers = []
        for (const ask of this.#permits.work().asks) answers.push(await this.#ask(ask))
        this.#failures = 0
        const isWaiting = answers.some(({ state }) => state === "waiting")
        // Who got one slot may wait for the next; who gave one back may want another.
        const more = this.#permits.work()
        const isDone = more.gives.length === 0 && (more.asks.length === 0 || (isWaiting && !this.#isWanted))
        this.#nextTryAt = isDone ? this.#restAt(isWaiting) : this.#now() + netMs
        if (isDone) return
      }
    } catch (error) {
      const waitMs = Math.min(retryMs * 2 ** Math.min(this.#failures++, 20), retryMsMax)
      this.#nextTryAt = this.#now() + waitMs
      this.#log.warn("a limit could not be asked; trying again", { error, inMs: waitMs })
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

  async #ask({ key, ask }: PermitAsk): Promise<SlotAnswer> {
    const answer = await this.#key(key).slotAsk(ask)
    if (answer.state === "taken" && this.#permits.holds(ask, key)) this.#permits.granted(key)
    return answer
  }
}
