// Faults of the network and the server that workers and clients must survive. A proxy between them causes the faults.

import { setTimeout as delay } from "node:timers/promises"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { FaultyProxy } from "../../../tools/postgres/faulty-proxy.ts"
import { PostgresServer } from "../../../tools/postgres/server.ts"
import { until } from "../until.ts"
import { all, ClusterBed, ids } from "./cluster-bed.ts"
import type { ClusterProcess } from "./cluster-process.ts"

let server: PostgresServer
let schemas = 0
let bed: ClusterBed
let proxy: FaultyProxy
let url: string

beforeAll(async () => {
  server = await PostgresServer.start()
}, 60_000)
afterAll(() => server.stop(), 60_000)

beforeEach(async () => {
  bed = await ClusterBed.open(server.url, `faults_${++schemas}`)
  proxy = await FaultyProxy.before(server.url)
  url = proxy.url(server.url)
})
afterEach(async () => {
  proxy.heal()
  await bed.close()
  await proxy.close()
}, 60_000)

const write = /\.write$/
const calls = (worker: ClusterProcess) => worker.reports.flatMap((report) => (report.type === "step" ? [`${report.instance} ${report.step}`] : []))

describe("workers", () => {
  it("go on over connections that are cut again and again", async () => {
    await bed.worker({ url })
    await bed.worker({ url })
    await bed.start(ids(12))
    for (let cut = 0; cut < 15; cut++) {
      await delay(60)
      proxy.cut()
    }
    expect(await bed.results(ids(12))).toEqual(ids(12).map(() => all))
    expect(await bed.flaws(ids(12))).toEqual([])
  })

  it("a commit that the server has done, and whose answer is lost, is not done again, and neither is any step", async () => {
    const worker = await bed.worker({ url, lease: "30s" })
    proxy.inject(write, "cut after", 5)
    await bed.start(ids(6))
    expect(await bed.results(ids(6))).toEqual(ids(6).map(() => all))
    expect(proxy.hits).toBe(5)
    expect(await bed.flaws(ids(6))).toEqual([])
    expect(calls(worker).toSorted()).toEqual(ids(6).flatMap((id) => all.map((n) => `${id} ${n}`)))
  })

  it("the same holds for a transaction whose COMMIT was sent, and for one whose COMMIT never arrived", async () => {
    const worker = await bed.worker({ url, lease: "30s" })
    proxy.inject(/^COMMIT$/, "cut after", 2)
    proxy.inject(/^COMMIT$/, "cut before", 2)
    await bed.start(ids(6), "limited")
    expect(await bed.results(ids(6))).toEqual(ids(6).map(() => all))
    expect(proxy.hits).toBe(4)
    expect(await bed.flaws(ids(6))).toEqual([])
    expect(calls(worker).toSorted()).toEqual(ids(6).flatMap((id) => all.map((n) => `${id} ${n}`)))
  })

  it("a claim whose answer was lost is noticed: what it took is executed long before the next sweep", async () => {
    await bed.worker({ url, lease: "30s" })
    proxy.inject(/\.claim$/, "cut after", 1)
    await bed.start(ids(3))
    proxy.inject(/^COMMIT$/, "cut after", 1)
    await bed.start(["limited"], "limited")
    const names = [...ids(3), "limited"]
    expect(await bed.results(names, "20s")).toEqual(names.map(() => all))
    expect(proxy.hits).toBe(2)
  })

  it("deadlocks and failures to serialise are rolled back by the server, and tried again", async () => {
    const worker = await bed.worker({ url, lease: "30s" })
    for (const sqlState of ["40001", "40P01"]) {
      proxy.inject(write, { sqlState }, 3)
      proxy.inject(/^COMMIT$/, { sqlState }, 3)
    }
    const limited = ids(4).map((id) => `limited-${id}`)
    await Promise.all([bed.start(ids(4)), bed.start(limited, "limited")])
    const names = [...ids(4), ...limited]
    expect(await bed.results(names)).toEqual(names.map(() => all))
    expect(proxy.hits).toBe(12)
    expect(await bed.flaws(names)).toEqual([])
    expect(calls(worker)).toHaveLength(names.length * all.length)
  })

  it("wait while the server's disk is full, for commits and for claims, and do no step again for that", async () => {
    const worker = await bed.worker({ url, lease: "30s" })
    await bed.start(ids(4))
    await worker.works(6)
    const fault = proxy.inject(/\.(write|claim|renew)$|^COMMIT$/, { sqlState: "53100" })
    await delay(1_500)
    const before = worker.steps
    // When the proxy began, each instance may have been in one step.
    expect(await until(() => proxy.hits > 2, 30_000)).toBe(true)
    await delay(300)
    expect(worker.steps).toBe(before)
    fault.times = 0
    expect(await bed.results(ids(4))).toEqual(ids(4).map(() => all))
    expect(await bed.flaws(ids(4))).toEqual([])
    expect(calls(worker)).toHaveLength(4 * all.length)
  })

  it("one that is cut off for longer than its lease is replaced; when it is back it writes nothing that is another's, and goes on as a worker", async () => {
    const second = await bed.worker({ stepMs: 150, isPaused: true })
    const first = await bed.worker({ url, stepMs: 150, answerTimeout: "1s" })
    await bed.start(ids(4))
    await first.works(4)
    await second.goOn()
    proxy.silence()
    const silentAt = performance.now()
    await second.works()
    expect(performance.now() - silentAt).toBeLessThan(2_000 + 500)
    // The worker is back while the other worker executes the same instances.
    proxy.heal()
    expect(await bed.results(ids(4))).toEqual(ids(4).map(() => all))
    expect(await bed.flaws(ids(4))).toEqual([])
    await second.end("SIGTERM")
    await bed.start(["later"])
    expect(await bed.results(["later"])).toEqual([all])
  })

  it("a server that says nothing more, on connections that stay, is given up after the answer timeout", async () => {
    const worker = await bed.worker({ url, answerTimeout: "500ms", lease: "30s" })
    await bed.start(ids(4))
    await worker.works(4)
    proxy.silence()
    await delay(1_200)
    // The messages that the proxy held are lost with their connections.
    proxy.cut()
    proxy.heal()
    expect(await bed.results(ids(4))).toEqual(ids(4).map(() => all))
    expect(await bed.flaws(ids(4))).toEqual([])
    expect(calls(worker)).toHaveLength(4 * all.length)
  })
})

describe("clients", () => {
  const port = () => String(proxy.port)

  it("a call whose server is away fails with where it was looked for, what was being done and why; it may be made again", async () => {
    const client = await bed.anotherClient({ connectionString: url })
    await bed.start(["i"])
    proxy.refuse()
    const failure = await client.describe("i").catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: "STORE_UNREACHABLE", details: { server: `127.0.0.1:${port()}, database "postgres"` } })
    expect(String(failure)).toMatch(
      /PostgreSQL \(127\.0\.0\.1:\d+, database "postgres"\) did not answer while (connecting|looking up an instance) \(.*\); check that the server runs/,
    )
    proxy.heal()
    expect((await client.describe("i")).status).toBe("queued")
  })

  it("an event whose answer was lost may have been delivered: the error says so, and with an id it is sent again without harm", async () => {
    const client = await bed.anotherClient({ connectionString: url })
    const worker = await bed.worker()
    await client.start("echo", { version: "1", allowUnknown: true, id: "i" })
    proxy.inject(/\.deliver(?:_checked)?$/, "cut after", 1)
    const send = () => client.get("i").sendEvent("word", "hello", { eventId: "e1" })
    await expect(send()).rejects.toMatchObject({ code: "STORE_UNREACHABLE", details: { isUnknown: true, doing: "delivering messages" } })
    await send()
    expect(await client.get("i").result()).toEqual(["hello"])
    await worker.end("SIGTERM")
  })

  it("a start whose answer was lost is sent again by itself, and is one start", async () => {
    const client = await bed.anotherClient({ connectionString: url })
    const cutOnce = () => proxy.inject(write, "cut after", 1)
    cutOnce()
    await client.start("count", { version: "1", allowUnknown: true, id: "i", input: 10 })
    expect(proxy.hits).toBe(1)
    cutOnce()
    await client.startBatch([{ workflow: "count", version: "1", allowUnknown: true, id: "j", input: 10 }])
    expect(proxy.hits).toBe(2)
    expect(await client.count({}, "status")).toEqual({ queued: 2 })
  })

  it("a start that finds the disk full says so, and the same may be started later", async () => {
    const client = await bed.anotherClient({ connectionString: url })
    proxy.inject(write, { sqlState: "53100" }, 1)
    const start = () => client.start("count", { version: "1", allowUnknown: true, id: "i", input: 10 })
    const failure = await start().catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: "DISK_FULL", details: { postgresCode: "53100", doing: "committing turns" } })
    expect(String(failure)).toContain(`127.0.0.1:${port()}, database "postgres"`)
    await start()
    expect((await client.describe("i")).status).toBe("queued")
  })

  it("a server that greets and goes in one breath takes nobody down, and another connection is made", async () => {
    const uncaught: unknown[] = []
    const listener = (error: unknown) => uncaught.push(error)
    process.on("uncaughtException", listener)
    try {
      const client = await bed.anotherClient({ connectionString: url })
      proxy.cut()
      proxy.greetAndEnd(3)
      for (let n = 0; n < 3; n++) await client.describe("i").catch(() => undefined)
      await expect(client.describe("i")).rejects.toMatchObject({ code: "NOT_FOUND" })
    } finally {
      process.off("uncaughtException", listener)
    }
    expect(uncaught).toEqual([])
  })

  it("whoever waits for a result goes on waiting over cut connections", async () => {
    const client = await bed.anotherClient({ connectionString: url })
    await bed.worker()
    await client.start("count", { version: "1", allowUnknown: true, id: "i", input: 10 })
    const result = client.get("i").result({ timeout: "30s" })
    proxy.cut()
    expect(await result).toEqual(all)
  })
})
