import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { PostgresServer } from "../../../tools/postgres/server.ts"
import { all, ClusterBed, ids } from "./cluster-bed.ts"

let server: PostgresServer
let schemas = 0
let bed: ClusterBed

beforeAll(async () => {
  server = await PostgresServer.start()
}, 60_000)
afterAll(() => server.stop(), 60_000)

beforeEach(async () => {
  bed = await ClusterBed.open(server.url, `crash_${++schemas}`)
})
afterEach(() => bed.close(), 60_000)

/** Two leases of these workers, plus the time until one of their steps is noticed. */
const twoLeasesMs = 2_000 + 500

describe("workers on PostgreSQL", () => {
  it("one that is killed is replaced within two leases, and all its work goes on where it stopped", async () => {
    const second = await bed.worker({ isPaused: true })
    const first = await bed.worker({ stepMs: 500 })
    await bed.start(ids(8))
    await first.works(8)
    await second.goOn()
    await first.end("SIGKILL")
    const killedAt = performance.now()
    await second.works()
    expect(performance.now() - killedAt).toBeLessThan(twoLeasesMs)
    expect(await bed.results(ids(8))).toEqual(ids(8).map(() => all))
    expect(await bed.flaws(ids(8))).toEqual([])
  })

  it("one that is frozen beyond its lease and wakes up writes nothing, gives up what is another's, and goes on with new work", async () => {
    const second = await bed.worker({ isPaused: true })
    const first = await bed.worker({ stepMs: 100 })
    await bed.start(ids(4))
    await first.works(4)
    await second.goOn()
    first.signal("SIGSTOP")
    const stoppedAt = performance.now()
    await second.works()
    expect(performance.now() - stoppedAt).toBeLessThan(twoLeasesMs)
    expect(await bed.results(ids(4))).toEqual(ids(4).map(() => all))
    first.signal("SIGCONT")
    await second.end("SIGTERM")
    await bed.start(["later"])
    expect(await bed.results(["later"])).toEqual([all])
    expect(await bed.flaws([...ids(4), "later"])).toEqual([])
  })

  it("one that wakes up while another works on its instances ends no step for it, and lets them go", async () => {
    // Long enough that the worker keeps its lease on a busy machine, where it renews late.
    const second = await bed.worker({ stepMs: 300, isPaused: true, lease: "10s" })
    const first = await bed.worker({ stepMs: 300 })
    await bed.start(ids(4))
    await first.works(4)
    await second.goOn()
    first.signal("SIGSTOP")
    await second.works()
    const before = first.steps
    // The functions of the frozen worker end now. Their results are not recorded, because the other worker has begun new attempts.
    first.signal("SIGCONT")
    expect(await bed.results(ids(4))).toEqual(ids(4).map(() => all))
    // A commit that was under way when the worker was stopped may let it begin one more step of each instance.
    expect(first.steps).toBeLessThanOrEqual(before + 4)
    expect(await bed.flaws(ids(4))).toEqual([])
    for (const id of ids(4)) expect((await bed.types(id)).filter((type) => type === "recovered")).toHaveLength(1)
    await second.end("SIGTERM")
    await bed.start(["later"])
    expect(await bed.results(["later"])).toEqual([all])
  })

  it("one that wakes up long after its lease finds out at once what it lost: signals of its steps are aborted, whoever waits is answered", async () => {
    const second = await bed.worker({ stepMs: 0, isPaused: true })
    const first = await bed.worker({ stepMs: 60_000, lease: "2s" })
    await bed.start(ids(4), "held")
    await first.works(4)
    first.awaits(ids(4))
    await second.goOn()
    first.signal("SIGSTOP")
    expect(await bed.results(ids(4))).toEqual(ids(4).map(() => "done"))
    const before = first.reports.length
    first.signal("SIGCONT")
    const wokenAt = performance.now()
    const of = (wanted: string) => first.reports.slice(before).filter(({ type }) => type === wanted).length
    await first.reported(() => of("aborted") === 4 && of("answered") === 4)
    // A lease is two seconds, a sweep thirty.
    expect(performance.now() - wokenAt).toBeLessThan(2_000)
  })

  it("one that is told to end gives back what it has: another goes on at once, and it is no crash", async () => {
    const lease = "60s"
    const second = await bed.worker({ lease, isPaused: true })
    const first = await bed.worker({ lease, stepMs: 100 })
    await bed.start(ids(4))
    await first.works(4)
    await second.goOn()
    await first.end("SIGTERM")
    const endedAt = performance.now()
    await second.works()
    // This is sooner than the end of a lease or a sweep.
    expect(performance.now() - endedAt).toBeLessThan(10_000)
    expect(await bed.results(ids(4))).toEqual(ids(4).map(() => all))
    for (const id of ids(4)) expect(await bed.types(id)).not.toContain("recovered")
  })

  it("one that is told to end while the server is away ends all the same, and loses nothing", async () => {
    const first = await bed.worker({ drain: "500ms" })
    await bed.start(ids(4))
    await first.works(4)
    await server.kill()
    first.signal("SIGTERM")
    await Promise.race([first.exited, new Promise((_, reject) => setTimeout(() => reject(new Error("it does not end")), 20_000).unref())])
    await server.resume()
    await bed.worker()
    expect(await bed.results(ids(4))).toEqual(ids(4).map(() => all))
    expect(await bed.flaws(ids(4))).toEqual([])
  })

  it("the death of the server holds them up until it is there again; nothing fails and nothing is lost", async () => {
    const workers = [await bed.worker({ lease: "10s" }), await bed.worker({ lease: "10s" })]
    await bed.start(ids(12))
    await Promise.race(workers.map((worker) => worker.works(6)))
    await server.kill()
    await server.resume()
    expect(await bed.results(ids(12))).toEqual(ids(12).map(() => all))
    expect(await bed.flaws(ids(12))).toEqual([])
    expect(await bed.client.count({}, "status")).toEqual({ completed: 12 })
    // Each acknowledged step is on disk, so a step is called again only if its answer was under way.
    await bed.start(["later"])
    expect(await bed.results(["later"])).toEqual([all])
  })
})
