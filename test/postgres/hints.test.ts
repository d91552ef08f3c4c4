// Notifications between processes. Time is virtual and stands still unless a test moves it: what arrives was notified, and not found by a sweep.

import { setTimeout as delay } from "node:timers/promises"
import { type Context, workflow } from "perdure"
import { afterAll, afterEach, expect, it } from "vitest"
import { overriding } from "../../src/engine/method-overrides.ts"
import type { Store, StoreProvider } from "../../src/ports/store.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"
import { ClusterBed } from "./cluster-bed.ts"

const database = new TestDatabase()
const bed = new ClusterBed(database)
afterEach(() => bed.close())
afterAll(() => database.drop())

const patient = workflow("patient", async (ctx: Context) => {
  ctx.setUpdateHandler("add", async (n: number) => ctx.do("sum", () => n + 1))
  return ctx.waitForEvent("go")
})

/** Counts the reads of single instances when they are answered. */
const counting = (looks: string[]) => (provider: StoreProvider) => ({
  name: provider.name,
  open: async (context: Parameters<StoreProvider["open"]>[0]) => {
    const store = await provider.open(context)
    const get: Store["directory"]["get"] = async (id) => {
      const row = await store.directory.get(id)
      looks.push(id)
      return row
    }
    const statusWithEnding: Store["directory"]["statusWithEnding"] = async (id) => {
      const found = await store.directory.statusWithEnding?.(id)
      looks.push(id)
      return found
    }
    return overriding<Store>(store, { directory: overriding(store.directory, { get, statusWithEnding }) })
  },
})

it("a result, the answer to an update, and changes reach another process although no time passes", async () => {
  const { engines, settle } = await bed.open([patient], ["worker", "client"], { sweep: "52w" })
  const [worker, client] = engines as [(typeof engines)[0], (typeof engines)[0]]
  const handle = await client.start(patient, { id: "i" })
  await settle()
  const following = (async () => {
    const types: string[] = []
    for await (const { type } of client.changes()) if (types.push(type) && type === "workflow.completed") return types
    return types
  })()
  expect(await handle.update("add", 1)).toBe(2)
  const result = handle.result()
  await worker.get("i").sendEvent("go", "gone")
  expect(await result).toBe("gone")
  expect(await following).toContain("step.completed")
})

it("that an instance has stalled reaches another process that waits for its result", async () => {
  const stalling = workflow("stalling", async (ctx: Context) => {
    await ctx.waitForEvent("go")
    await new Promise(() => undefined)
  })
  const { engines, settle, skip } = await bed.open([stalling], ["worker", "client"], { sweep: "52w", replayGrace: 1 })
  const [worker, client] = engines as [(typeof engines)[0], (typeof engines)[0]]
  await worker.start(stalling, { id: "i" })
  await settle()
  const result = client
    .get("i")
    .result({ rejectWhenStalled: true })
    .catch((error: unknown) => error)
  // By then the client polls rarely.
  await skip(200_000)
  await worker.get("i").sendEvent("go", 1)
  await settle()
  // The grace after which an instance stalls. The client does not poll in this time.
  await skip(1)
  expect(await result).toMatchObject({ code: "STALLED" })
})

it("whoever waits for many looks only at those that have ended, and an update that a restart dropped fails at once", async () => {
  const looks: string[] = []
  const { engines, settle } = await bed.open([patient], ["worker", "client"], {
    sweep: "52w",
    wrap: (store, index) => (index === 1 ? counting(looks)(store) : store),
  })
  const [worker, client] = engines as [(typeof engines)[0], (typeof engines)[0]]
  await worker.startBatch(Array.from({ length: 40 }, (_, n) => ({ workflow: patient, id: `i${n}`, input: undefined })))
  await settle()
  const results = Array.from({ length: 40 }, (_, n) => client.get(`i${n}`).result())
  while (looks.length < 40) await delay(1)
  looks.length = 0
  await worker.get("i7").sendEvent("go", 7)
  expect(await results[7]).toBe(7)
  expect([...new Set(looks)]).toEqual(["i7"])
  await worker.get("i8").pause()
  await settle()
  const dropped = client.get("i8").update("add", 1)
  dropped.catch(() => undefined)
  while ((await worker.components.store.journal.readInbox(["i8"])).length === 0) await delay(1)
  await worker.get("i8").restart()
  await expect(dropped).rejects.toMatchObject({ code: "INSTANCE_ENDED" })
  for (let n = 0; n < 40; n++) if (n !== 7) await worker.get(`i${n}`).sendEvent("go", n)
  expect(await Promise.all(results)).toEqual(Array.from({ length: 40 }, (_, n) => n))
})

/** Records the calls of the store. */
const noting = (asked: string[]) => (provider: StoreProvider) => ({
  name: provider.name,
  open: async (context: Parameters<StoreProvider["open"]>[0]) => {
    const store = await provider.open(context)
    const noted = <T extends object>(part: T): T =>
      new Proxy(part, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name)
          return typeof member === "function" ? (...args: unknown[]) => asked.push(String(name)) && (Reflect.apply(member, target, args) as unknown) : member
        },
      })
    return overriding<Store>(store, { journal: noted(store.journal), directory: noted(store.directory), schedules: noted(store.schedules) })
  },
})

it("an event from another process takes one question there, and the commit of whoever has the instance in memory", async () => {
  const asked: [string[], string[]] = [[], []]
  const { engines, settle } = await bed.open([patient], ["worker", "client"], { sweep: "52w", wrap: (store, index) => noting(asked[index]!)(store) })
  const [worker, client] = engines as [(typeof engines)[0], (typeof engines)[0]]
  const result = (await worker.start(patient, { id: "i" })).result()
  await settle()
  for (const questions of asked) questions.length = 0
  await client.get("i").sendEvent("go", "gone")
  expect(await result).toBe("gone")
  await settle()
  expect(asked).toEqual([["commit"], ["deliver"]])
})

/** The last statement over a connection that listens: LISTEN, or a single call of a function. */
const isListening = "query LIKE $1 OR query LIKE $2"
const listenersOf = (schema: string) => [`LISTEN "perdure ${schema}";%`, `SELECT set_config('lock_timeout'%"${schema}".%`]

it("connections that listen are made again when they are lost, and what was told meanwhile is found", async () => {
  const { engines, settle, schema } = await bed.open([patient], ["worker", "client"], { sweep: "52w" })
  const [worker, client] = engines as [(typeof engines)[0], (typeof engines)[0]]
  await worker.start(patient, { id: "old" })
  await settle()
  const result = client.get("old").result()
  for (let round = 0; round < 3; round++) {
    const killed = await database.pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${isListening}`, listenersOf(schema))
    expect(killed.rows).toHaveLength(2)
    // Neither process listens: no process is told that the instance was started, or that it ends.
    const handle = await client.start(patient, { id: `new${round}` })
    const ended = handle.result()
    await handle.sendEvent("go", round)
    expect(await ended).toBe(round)
    // Waits until both processes listen again.
    const listening = async () => (await database.pool.query(`SELECT 1 FROM pg_stat_activity WHERE ${isListening}`, listenersOf(schema))).rows.length
    while ((await listening()) < 2) await delay(10)
  }
  await client.get("old").sendEvent("go", "at last")
  expect(await result).toBe("at last")
})

it("clients that wait for long look ever more rarely", async () => {
  const looks: string[] = []
  const { engines, settle, skip } = await bed.open([patient], ["worker", "client", "client", "client"], {
    wrap: (store, index) => (index > 0 ? counting(looks)(store) : store),
  })
  const [worker, ...clients] = engines
  await worker!.start(patient, { id: "i" })
  await settle()
  const results = clients.map((client) => client.get("i").result())
  await skip(600_000)
  // The client polls at 1, 3, 7, 15 and 31 seconds, then every thirty seconds.
  expect(looks.length).toBeGreaterThanOrEqual(3 * 15)
  expect(looks.length).toBeLessThanOrEqual(3 * 30)
  await worker!.get("i").sendEvent("go", "gone")
  expect(await Promise.all(results)).toEqual(["gone", "gone", "gone"])
})
