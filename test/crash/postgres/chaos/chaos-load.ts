import { setTimeout as delay } from "node:timers/promises"
import { PerdureError } from "../../../../src/index.ts"
import type { SeededRandom } from "../../../../src/core/execution/seeded-random.ts"
import type { Engine } from "../../../../src/index.ts"
import { type Kind, kinds } from "./chaos-workflows.ts"

const callers = 6

/** Codes of errors that refuse a call for good. */
const refusals = new Set(["BAD_OPTION", "BAD_NAME", "UNKNOWN_WORKFLOW"])

/** Codes of errors after which the call is repeated. Any other error fails the test. */
const passing = new Set(["STORE_UNREACHABLE", "DISK_FULL", "STORE_FAILED"])

/** Words that would become part of a statement if the code did not look them up in a list. */
const hostile = [
  "status, pg_sleep(10)",
  "status FROM chaos.effect; DROP TABLE chaos.effect CASCADE; --",
  "status\u0000",
  "'; SELECT pg_read_file('PG_VERSION'); --",
]

/** The client starts instances and sends events, and repeats each call until it is acknowledged. */
export class ChaosLoad {
  /** How many instances the client was told to start. */
  asked = 0
  /** Acknowledged starts, with their workflows. */
  readonly started = new Map<string, Kind>()
  /** Acknowledged events: the payload, by instance. */
  readonly sent = new Map<string, string>()
  /** Calls that failed and were repeated, by the code of the error. */
  readonly failures = new Map<string, number>()
  /** How many hostile calls were refused. */
  refused = 0
  readonly #engine: Engine
  readonly #random: SeededRandom

  constructor(engine: Engine, random: SeededRandom) {
    this.#engine = engine
    this.#random = random
  }

  /** Starts `count` more instances, spread over that time, with several callers at once. */
  async run(instances: number, overMs: number): Promise<void> {
    const beganAt = performance.now()
    const first = this.asked
    this.asked += instances
    let next = 0
    const caller = async () => {
      for (let n = next++; n < instances; n = next++) {
        await delay(Math.max(0, beganAt + (n / instances) * overMs - performance.now()))
        await this.#startNext(first + n)
      }
    }
    await Promise.all(Array.from({ length: callers }, caller))
  }

  /** Starts several instances at once that queue for one limit: more than the limit admits. */
  async rush(instances: number): Promise<void> {
    const first = this.asked
    this.asked += instances
    await Promise.all(Array.from({ length: instances }, (_, n) => this.#start("limited", `limited-rush-${first + n}`)))
  }

  async #startNext(n: number): Promise<void> {
    // Instances that queue for a limit are fewer, so that they do not decide how long the test takes.
    const next = kinds[n % kinds.length]!
    const kind = next === "limited" && n % (2 * kinds.length) >= kinds.length ? "plain" : next
    await this.#start(kind, `${kind}-${n}`)
    if (n % 10 === 0) await this.#provoke(hostile[(n / 10) % hostile.length]!)
  }

  /** Each hostile call must be refused at once, with a code that says why. */
  async #provoke(word: string): Promise<void> {
    const calls = [
      () => this.#engine.count({}, word as "status"),
      () => this.#engine.list({ order: word as "oldest" }),
      () => this.#engine.list({ status: word as "running" }),
      () => this.#engine.start(word, {}),
    ]
    for (const call of calls) {
      const error: unknown = await call().then(
        () => new Error(`accepted: ${word}`),
        (thrown: unknown) => thrown,
      )
      if (!PerdureError.is(error) || !refusals.has(error.code)) throw error
      this.refused++
    }
  }

  async #start(kind: Kind, id: string): Promise<void> {
    const input = kind === "sleeper" ? Math.floor(this.#random.next() * 400) : undefined
    await this.#again(() => this.#engine.start(kind, { id, input, ifExists: "return" }))
    this.started.set(id, kind)
    if (kind === "listener") {
      const word = `word for ${id}`
      await this.#again(() => this.#engine.get(id).sendEvent("word", word, { eventId: `event-${id}` }))
      this.sent.set(id, word)
    }
  }

  async #again(call: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await call()
        return
      } catch (error) {
        if (!PerdureError.is(error) || !passing.has(error.code)) throw error
        this.failures.set(error.code, (this.failures.get(error.code) ?? 0) + 1)
        await delay(50)
      }
    }
  }
}
