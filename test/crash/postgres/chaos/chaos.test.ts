// All faults at once, while instances of every kind are started: workers are killed, frozen and stopped, and their clocks are set; the server dies every few
// seconds and writes slowly; the network cuts, delays and refuses; callers are hostile. Afterwards the journals and the effects must agree.

import { afterEach, expect, it } from "vitest"
import { SeededRandom } from "../../../../src/core/execution/seeded-random.ts"
import { type Engine, Perdure } from "../../../../src/index.ts"
import { postgres } from "../../../../src/postgres.ts"
import { FaultyProxy } from "../../../../tools/postgres/faulty-proxy.ts"
import { PostgresServer } from "../../../../tools/postgres/server.ts"
import { wholeHistory } from "../../findings.ts"
import { until } from "../../until.ts"
import { silentLogger } from "../../../../src/hosts/silent-logger.ts"
import { type ChaosEvidence, check } from "./chaos-checker.ts"
import { ChaosLoad } from "./chaos-load.ts"
import { ChaosMonkey } from "./chaos-monkey.ts"
import { ChaosProcess } from "./chaos-process.ts"
import { chaosWorkflows, concurrency, kinds } from "./chaos-workflows.ts"
import { Effects } from "./effects.ts"

const long = process.env["LONG"] === "1"
const instances = Number(process.env["INSTANCES"] ?? (long ? 5_000 : 200))
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9))
const schema = "chaos_store"
const workerCount = 4

const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
}, 60_000)

async function histories(engine: Engine): Promise<ChaosEvidence["histories"]> {
  const found = new Map<string, Awaited<ReturnType<typeof wholeHistory>>>()
  for (let cursor: string | undefined, isMore = true; isMore;) {
    const page = await engine.list({ limit: 500, ...(cursor === undefined ? {} : { cursor }) })
    for (const { id } of page.instances) found.set(id, await wholeHistory(engine, id))
    cursor = page.cursor
    isMore = cursor !== undefined
  }
  return found
}

it(
  "whatever is done to workers, server and network, every acknowledged start ends as promised",
  async () => {
    const beganAt = performance.now()
    console.log(`chaos: ${instances} instances, ${workerCount} workers, SEED=${seed}`)
    const server = await PostgresServer.start()
    ends.push(() => server.stop())
    const proxy = await FaultyProxy.before(server.url)
    ends.push(() => proxy.close())
    const effects = new Effects(server.url)
    ends.push(() => effects.close())
    await effects.create()
    const url = proxy.url(server.url)
    const engine = await Perdure.open({
      store: postgres({ connectionString: url, schema, answerTimeout: "5s" }),
      role: "client",
      workflows: chaosWorkflows(undefined, "client"),
      log: silentLogger,
    })
    ends.push(() => engine.close())
    const workers = Array.from({ length: workerCount }, (_, place) => new ChaosProcess(place, { url, effectsUrl: server.url, schema }))
    for (const worker of workers) ends.push(() => worker.end())
    expect(await until(() => workers.every(({ isReady }) => isReady), 60_000)).toBe(true)

    const load = new ChaosLoad(engine, new SeededRandom(`load ${seed}`))
    const progress = Object.assign(() => load.started.size, { most: instances })
    const monkey = new ChaosMonkey({ workers, server, proxy, random: new SeededRandom(`chaos ${seed}`), progress })
    const chaos = monkey.run(long ? 400 : 200)
    await Promise.all([load.run(instances, long ? 360_000 : 12_000), load.rush(4 * concurrency)])
    // Each kind of fault has hit something, and at some moment the limit was the only reason why instances waited.
    const isStruck = async () => [...monkey.histogram().values()].every((hits) => hits > 0) && (await effects.hasRecoveries(schema))
    const isFull = async () => (await effects.peak()) >= concurrency
    const strikeUntil = performance.now() + (long ? 120_000 : 40_000)
    while (!((await isStruck()) && (await isFull())) && performance.now() < strikeUntil)
      await Promise.all([load.run(10, 500), (await isFull()) ? undefined : load.rush(2 * concurrency)])
    await monkey.stop()
    await chaos
    proxy.heal()

    const open = async () => (await engine.count({ status: ["queued", "running", "sleeping", "waiting"] }, "status").catch(() => undefined)) ?? { unknown: 1 }
    const quietAt = performance.now()
    // Waits while the number of open instances decreases. On a busy machine, workers lose their short leases, and this takes long.
    for (let left = Infinity, most = long ? 1_200_000 : 180_000; performance.now() - quietAt < most;) {
      const before = left
      const isLess = async () => (left = Object.values(await open()).reduce((sum, count) => sum + count, 0)) < before
      if (!(await until(isLess, long ? 300_000 : 60_000)) || left === 0) break
    }
    if (Object.keys(await open()).length > 0) {
      const { instances: left } = await engine.list({ status: ["queued", "running", "sleeping", "waiting"], limit: 10 })
      for (const { id } of left) console.log(id, JSON.stringify(await engine.why(id)))
    }
    const settledMs = performance.now() - quietAt

    const found = await histories(engine)
    const evidence: ChaosEvidence = {
      acknowledged: load.started.keys(),
      sent: load.sent,
      histories: found,
      spans: await effects.journalRows(schema),
      effects: await effects.all(),
      peak: await effects.peak(),
      limit: concurrency,
    }
    const entries = [...found.values()].flat()
    const counted = (type: string) => entries.filter((entry) => entry.type === type).length
    const faults = monkey.histogram()
    console.log(
      [
        `chaos: ${found.size} instances, ${entries.length} entries, ${evidence.effects.length} effects in ${Math.round((performance.now() - beganAt) / 1_000)} s; quiet after ${Math.round(settledMs)} ms`,
        ...[...faults].map(([name, hits]) => `  ${String(hits).padStart(5)}  ${name}`),
        `  ${String(counted("recovered")).padStart(5)}  instances taken over from a worker that was gone`,
        `  ${String(evidence.effects.filter(({ times }) => times > 1).length).padStart(5)}  steps executed more than once`,
        ...[...load.failures].map(([code, times]) => `  ${String(times).padStart(5)}  calls of the client failed with ${code}, and were made again`),
      ].join("\n"),
    )
    expect(check(evidence).slice(0, 20)).toEqual([])
    expect([...faults].filter(([, hits]) => hits === 0)).toEqual([])
    expect(counted("recovered")).toBeGreaterThan(0)
    expect(load.started.size).toBe(load.asked)
    expect(load.refused).toBeGreaterThan(0)
    // Children are instances as well.
    expect(found.size).toBe(load.asked + 2 * [...load.started.values()].filter((kind) => kind === "parent").length)
    expect(new Set(load.started.values()).size).toBe(kinds.length)
    expect(await effects.leftOver(schema)).toEqual({ slots: 0, messages: 0, parked: 0, owned: 0 })
    expect(workers.map(({ complaints }) => complaints)).toEqual(workers.map(() => ""))
  },
  long ? 3_000_000 : 420_000,
)
