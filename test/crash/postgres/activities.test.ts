// Activities in processes of their own on PostgreSQL: which of the processes dies, freezes or loses its server does not matter to the result.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { silentLogger } from "../../../src/hosts/silent-logger.ts"
import { Perdure } from "../../../src/index.ts"
import { postgres } from "../../../src/postgres.ts"
import { PostgresServer } from "../../../tools/postgres/server.ts"
import { ActivityProcess, type ActivityProcessOptions } from "../activity-process.ts"

let server: PostgresServer
let schemas = 0
let schema: string
let client: Awaited<ReturnType<typeof Perdure.open>>
const processes: ActivityProcess[] = []

beforeAll(async () => {
  server = await PostgresServer.start()
}, 60_000)
afterAll(() => server.stop(), 60_000)

beforeEach(async () => {
  schema = `activities_${++schemas}`
  client = await Perdure.open({ store: postgres({ connectionString: server.url, schema }), workflows: [], role: "client", log: silentLogger })
})
afterEach(async () => {
  for (const process of processes.splice(0)) await process.end()
  await client.close()
}, 60_000)

async function spawned(runs: ActivityProcessOptions["runs"], workMs = 500): Promise<ActivityProcess> {
  const process = new ActivityProcess({ store: { url: server.url, schema }, lease: "1s", runs, workMs })
  processes.push(process)
  await until(() => process.reports.some(({ type }) => type === "ready"))
  return process
}

const until = (isSo: () => boolean) => vi.waitFor(() => expect(isSo()).toBe(true), { timeout: 20_000, interval: 10 })
const start = (id: string, parts: number) => client.start("job", { id, input: parts, version: "1", allowUnknown: true })
const result = async (id: string) => (await client.get(id).result({ timeout: "40s" })) as readonly { readonly part: number; readonly attempt: number }[]

describe("activities on PostgreSQL", () => {
  it("whose process is killed are taken over with their last heartbeat, which is no failure", async () => {
    await spawned("workflows")
    const first = await spawned("activities", 60_000)
    await start("a", 3)
    await until(() => first.calls.length === 3)
    // Long enough for some heartbeats to be stored.
    await new Promise((resolve) => setTimeout(resolve, 600))
    const second = await spawned("activities", 100)
    await first.end()
    expect(await result("a")).toEqual([0, 1, 2].map((part) => ({ part, attempt: 2 })))
    expect(second.calls.map(({ lastHeartbeat }) => lastHeartbeat)).toEqual([1, 2, 3].map(() => ({ by: 1, passedMs: expect.any(Number) as number })))
  }, 60_000)

  it("end as they should when the worker of their workflow is killed meanwhile, and their result is taken once", async () => {
    const worker = await spawned("workflows")
    const activities = await spawned("activities", 1_000)
    await start("a", 3)
    await until(() => activities.calls.length === 3)
    await worker.end()
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    await spawned("workflows")
    expect(await result("a")).toEqual([0, 1, 2].map((part) => ({ part, attempt: 1 })))
    expect(activities.calls).toHaveLength(3)
  }, 60_000)

  it("go on after both processes were killed", async () => {
    const worker = await spawned("workflows")
    const activities = await spawned("activities", 60_000)
    await start("a", 3)
    await until(() => activities.calls.length === 3)
    await Promise.all([worker.end(), activities.end()])
    await Promise.all([spawned("workflows"), spawned("activities", 100)])
    expect(await result("a")).toEqual([0, 1, 2].map((part) => ({ part, attempt: 2 })))
  }, 60_000)

  it("whose process freezes beyond the heartbeat timeout are taken over, and what it returns when it wakes up is dropped", async () => {
    await spawned("workflows")
    const frozen = await spawned("activities", 1_000)
    await start("a", 2)
    await until(() => frozen.calls.length === 2)
    frozen.signal("SIGSTOP")
    const second = await spawned("activities", 100)
    expect(await result("a")).toEqual([0, 1].map((part) => ({ part, attempt: 2 })))
    frozen.signal("SIGCONT")
    await until(() => frozen.reports.filter(({ type }) => type === "aborted").length === 2)
    expect(frozen.reports.find(({ type }) => type === "aborted")).toMatchObject({ attempt: 1, code: "STALE_TASK" })
    expect(second.calls.map(({ attempt }) => attempt)).toEqual([2, 2])
    // The process that woke up goes on with new work.
    await second.end()
    await start("b", 2)
    expect(await result("b")).toHaveLength(2)
    const { entries } = await client.get("a").history({ limit: 100 })
    expect(entries.filter(({ type }) => type === "step.completed")).toHaveLength(2)
  }, 60_000)

  it("go on when the server was killed and is back", async () => {
    const own = await PostgresServer.start()
    try {
      const ownSchema = "of_its_own"
      const options = { store: { url: own.url, schema: ownSchema }, lease: "1s", workMs: 300 } as const
      for (const runs of ["workflows", "activities"] as const) processes.push(new ActivityProcess({ ...options, runs }))
      await until(() => processes.every(({ reports }) => reports.length > 0))
      const other = await Perdure.open({ store: postgres({ connectionString: own.url, schema: ownSchema }), workflows: [], role: "client", log: silentLogger })
      const ids = ["a", "b", "c", "d"]
      for (const id of ids) await other.start("job", { id, input: 3, version: "1", allowUnknown: true })
      await until(() => (processes[1]?.calls.length ?? 0) >= 3)
      await own.kill()
      await own.resume()
      for (const id of ids) expect(await other.get(id).result({ timeout: "40s" })).toHaveLength(3)
      await other.close()
    } finally {
      for (const process of processes.splice(0)) await process.end()
      await own.stop()
    }
  }, 90_000)
})
