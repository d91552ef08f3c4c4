import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { Perdure } from "../../../src/index.ts"
import { postgres } from "../../../src/postgres.ts"
import { PostgresServer } from "../../../tools/postgres/server.ts"
import { ClusterProcess, type ClusterWorkerOptions } from "./cluster-process.ts"

let server: PostgresServer
let schemas = 0
let schema: string
let client: Awaited<ReturnType<typeof Perdure.open>>
const processes: ClusterProcess[] = []

beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server.stop())

beforeEach(async () => {
  schema = `crash_${++schemas}`
  client = await Perdure.open({
    store: postgres({ connectionString: server.url, schema }),
    role: "client",
    log: { debug() {}, info() {}, warn() {}, error() {} },
  })
})
afterEach(async () => {
  for (const one of processes.splice(0)) await one.end("SIGKILL")
  await client.close()
})

async function spawnWorker(options: Partial<ClusterWorkerOptions> = {}): Promise<ClusterProcess> {
  const one = new ClusterProcess({ url: server.url, schema, lease: "1s", stepMs: 20, ...options })
  processes.push(one)
  await one.ready()
  return one
}

const steps = 10
const all = Array.from({ length: steps }, (_, n) => n)
const ids = (count: number) => Array.from({ length: count }, (_, n) => `i${n}`)

const start = (names: readonly string[]) => client.startBatch(names.map((id) => ({ workflow: "count", version: "1", id, input: steps })))
const results = (names: readonly string[]) => Promise.all(names.map((id) => client.get(id).result({ timeout: "40s" })))

async function typesOf(id: string): Promise<readonly string[]> {
  const { entries } = await client.get(id).history({ limit: 1_000 })
  return entries.map(({ type }) => type)
}

/** Nothing recorded twice, and nothing recorded after the end. */
async function expectSound(names: readonly string[]): Promise<void> {
  for (const id of names) {
    const types = await typesOf(id)
    expect(types.filter((type) => type === "step.completed")).toHaveLength(steps)
    expect(types.filter((type) => type === "run.completed")).toHaveLength(1)
    expect(types.at(-1)).toBe("run.completed")
  }
}

describe("workers on PostgreSQL", () => {
  it("one that is killed is replaced within two leases, and all its work goes on where it stopped", async () => {
    const first = await spawnWorker({ stepMs: 500 })
    await start(ids(8))
    await first.works(8)
    const second = await spawnWorker()
    await first.end("SIGKILL")
    const killedAt = performance.now()
    await second.works()
    expect(performance.now() - killedAt).toBeLessThan(2_000 + 500)
    expect(await results(ids(8))).toEqual(ids(8).map(() => all))
    await expectSound(ids(8))
  })

  it("one that is frozen beyond its lease and wakes up writes nothing, gives up what is another's, and goes on with new work", async () => {
    const first = await spawnWorker({ stepMs: 100 })
    await start(ids(4))
    await first.works(4)
    const second = await spawnWorker()
    first.signal("SIGSTOP")
    expect(await results(ids(4))).toEqual(ids(4).map(() => all))
    first.signal("SIGCONT")
    await second.end("SIGTERM")
    await start(["later"])
    expect(await results(["later"])).toEqual([all])
    await expectSound([...ids(4), "later"])
  })

  it("one that is told to end gives back what it has: another goes on at once, and it is no crash", async () => {
    const lease = "60s"
    const first = await spawnWorker({ lease })
    await start(ids(4))
    await first.works(4)
    await spawnWorker({ lease })
    await first.end("SIGTERM")
    expect(await results(ids(4))).toEqual(ids(4).map(() => all))
    for (const id of ids(4)) expect(await typesOf(id)).not.toContain("recovered")
  })

  it("the death of the server holds them up until it is there again; nothing fails and nothing is lost", async () => {
    const workers = [await spawnWorker({ lease: "10s" }), await spawnWorker({ lease: "10s" })]
    await start(ids(12))
    await Promise.race(workers.map((worker) => worker.works(6)))
    await server.kill()
    await server.resume()
    expect(await results(ids(12))).toEqual(ids(12).map(() => all))
    await expectSound(ids(12))
    expect(await client.count({}, "status")).toEqual({ completed: 12 })
    // Each acknowledged step is on disk, so it is called again only where its answer was on the way.
    await start(["later"])
    expect(await results(["later"])).toEqual([all])
  })
})
