import { setTimeout as delay } from "node:timers/promises"
import pg from "pg"
import type { SeededRandom } from "../../../../src/core/execution/seeded-random.ts"
import type { FaultyProxy, Harm } from "../../../../tools/postgres/faulty-proxy.ts"
import type { PostgresServer } from "../../../../tools/postgres/server.ts"
import type { ChaosProcess } from "./chaos-process.ts"

const write = /\.write$/
const commit = /^COMMIT$/

/** The fault of the proxy, and for how many statements. */
const harms: readonly { readonly name: string; readonly at: RegExp; readonly harm: Harm; readonly times: number }[] = [
  { name: "answer to a commit of turns lost", at: write, harm: "cut after", times: 2 },
  { name: "commit of turns lost", at: write, harm: "cut before", times: 2 },
  { name: "answer to a COMMIT lost", at: commit, harm: "cut after", times: 2 },
  { name: "COMMIT lost", at: commit, harm: "cut before", times: 2 },
  { name: "disk full", at: write, harm: { sqlState: "53100" }, times: 4 },
  { name: "not serialisable", at: commit, harm: { sqlState: "40001" }, times: 3 },
  { name: "deadlock", at: write, harm: { sqlState: "40P01" }, times: 3 },
  { name: "slow answer", at: write, harm: { delayMs: 150 }, times: 3 },
]

/** How long a server stays up at least. */
const upMs = 2_500
const patienceMs = 20_000

const signals = ["killed", "frozen", "frozen beyond its lease", "told to end"] as const

/** By how much a worker's wall clock is moved. */
const clockSteps: ReadonlyMap<string, number> = new Map([
  ["clock set forward by an hour", 3_600_000],
  ["clock set back by a minute", -60_000],
])

/** For how long the server takes a tenth of a second to write a commit to its log. */
const slowLog = "slow log of the server"
const slowLogMs = 1_000

export const faultNames: readonly string[] = [
  ...signals,
  ...clockSteps.keys(),
  slowLog,
  "server killed",
  "all connections cut",
  ...harms.map(({ name }) => name),
]

/** This fault comes more often than the others: the server dies every few seconds. */
const schedule = [...faultNames, "server killed"]

export interface Victims {
  readonly workers: readonly ChaosProcess[]
  readonly server: PostgresServer
  readonly proxy: FaultyProxy
  readonly random: SeededRandom
  /** Returns how many starts are acknowledged. */
  readonly progress: (() => number) & { readonly most: number }
}

/** Causes faults until it is stopped, and counts the faults that hit something. */
export class ChaosMonkey {
  readonly #hits = new Map<string, number>(faultNames.map((name) => [name, 0]))
  readonly #victims: Victims
  readonly #thawing = new Set<Promise<void>>()
  readonly #frozen = new Set<ChaosProcess>()
  #isOver = false
  #upSince = performance.now()

  constructor(victims: Victims) {
    this.#victims = victims
  }

  /** Causes each kind of fault in each round, in an order that the seed decides. */
  async run(pauseMs: number): Promise<void> {
    const { random } = this.#victims
    while (!this.#isOver) {
      const round = schedule.map((name) => ({ name, at: random.next() })).toSorted((a, b) => a.at - b.at)
      for (const { name } of round) {
        if (this.#isOver) break
        await this.#strike(name)
        await delay(pauseMs * (0.5 + random.next()))
      }
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#thawing)
  }

  async #strike(name: string): Promise<void> {
    const { server, proxy } = this.#victims
    const harm = harms.find((one) => one.name === name)
    if (harm) return this.#inject(name, harm)
    if (name === "server killed") {
      await this.#letWork()
      await server.kill()
      await server.resume()
      this.#upSince = performance.now()
      return this.#hit(name)
    }
    if (name === "all connections cut") {
      proxy.cut()
      return this.#hit(name)
    }
    const stepMs = clockSteps.get(name)
    if (stepMs !== undefined) return this.#stepClock(name, stepMs)
    if (name === slowLog) return this.#slowDown()
    this.#signal(name as (typeof signals)[number])
  }

  #stepClock(name: string, ms: number): void {
    const { workers, random } = this.#victims
    const awake = workers.filter((worker) => worker.isReady)
    const victim = awake[Math.floor(random.next() * awake.length)]
    if (victim?.stepClock(ms)) this.#hit(name)
  }

  async #slowDown(): Promise<void> {
    if (!(await this.#configure("ALTER SYSTEM SET commit_delay = 100000", "ALTER SYSTEM SET commit_siblings = 0"))) return
    this.#hit(slowLog)
    const over = delay(slowLogMs).then(async () => {
      // The setting stays if the server is killed meanwhile.
      while (!(await this.#configure("ALTER SYSTEM RESET commit_delay", "ALTER SYSTEM RESET commit_siblings"))) await delay(200)
      this.#thawing.delete(over)
    })
    this.#thawing.add(over)
  }

  /** False: the server is away. */
  async #configure(...statements: readonly string[]): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.#victims.server.url, connectionTimeoutMillis: 2_000, query_timeout: 5_000 })
    client.on("error", () => undefined)
    try {
      await client.connect()
      for (const statement of [...statements, "SELECT pg_reload_conf()"]) await client.query(statement)
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  /** Waits until the server has been up long enough to do some work, which takes longer on a busy machine. */
  async #letWork(): Promise<void> {
    const { progress } = this.#victims
    await delay(Math.max(0, this.#upSince + upMs - performance.now()))
    const enough = Math.min(progress() + 5, progress.most)
    const until = performance.now() + patienceMs
    while (progress() < enough && performance.now() < until && !this.#isOver) await delay(50)
  }

  #inject(name: string, { at, harm, times }: (typeof harms)[number]): void {
    const { proxy } = this.#victims
    const fault = proxy.inject(at, harm, times)
    this.#injected.push({ name, fault, times })
  }

  /** Faults that happen when such a statement comes. */
  readonly #injected: { readonly name: string; readonly fault: { times: number }; readonly times: number }[] = []

  /** The faults that have hit something. */
  histogram(): ReadonlyMap<string, number> {
    const all = new Map(this.#hits)
    for (const { name, fault, times } of this.#injected) all.set(name, (all.get(name) ?? 0) + times - Math.max(0, fault.times))
    return all
  }

  #signal(kind: (typeof signals)[number]): void {
    const { workers, random } = this.#victims
    const awake = workers.filter((worker) => worker.isReady && !this.#frozen.has(worker))
    const victim = awake[Math.floor(random.next() * awake.length)]
    // One worker must stay that can take over.
    if (!victim || awake.length < 2) return
    this.#hit(kind)
    if (kind === "killed") {
      victim.isReady = false
      return victim.signal("SIGKILL")
    }
    if (kind === "told to end") {
      victim.isReady = false
      return victim.signal("SIGTERM")
    }
    this.#frozen.add(victim)
    victim.signal("SIGSTOP")
    const thawing = delay(kind === "frozen" ? 300 : 1_500 + random.next() * 1_500).then(() => {
      victim.signal("SIGCONT")
      this.#frozen.delete(victim)
      this.#thawing.delete(thawing)
    })
    this.#thawing.add(thawing)
  }

  #hit(name: string, times = 1): void {
    this.#hits.set(name, (this.#hits.get(name) ?? 0) + times)
  }
}
