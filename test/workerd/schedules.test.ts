import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { workflowClient } from "perdure/cloudflare"
import { describe, expect, it } from "vitest"
import { soon } from "./eventually.ts"

const { FLOW_RUNNER } = env as { readonly FLOW_RUNNER: DurableObjectNamespace }
const client = workflowClient(FLOW_RUNNER)
const stubOf = (name: string) => FLOW_RUNNER.get(FLOW_RUNNER.idFromName(name))
const schedule = (id: string) => stubOf(`@schedule:${id}`)
const startedBy = async (id: string) => (await client.schedules.get(id).describe()).counts.started

/** Writes an order that the schedule has decided on, and has not sent before its object died. */
const order = async (id: string, what: object, creates: string | null = null) => {
  await runInDurableObject(schedule(id), (_, { storage }) => {
    storage.sql.exec("INSERT INTO perdure_order (creates) VALUES (?)", creates)
    const text = new TextEncoder().encode(JSON.stringify(what))
    storage.sql.exec("INSERT INTO perdure_order_part (seq, part, bytes) SELECT max(seq), 0, ? FROM perdure_order", text)
  })
  await evictDurableObject(schedule(id))
}

/** Writes the order to start an instance with the result "y". */
const orderInstance = (id: string, instance: string, incarnation: string) => {
  const at = Date.now()
  const create = {
    ...{ turn: `turn of ${incarnation}`, position: 1, count: 1, run: 1, at, instance, incarnation },
    entries: `[{"type":"run.started","run":1,"workflow":"plain","version":"1","value":"y"}]`,
    create: { id: instance, incarnation, workflow: "plain", version: "1", createdAt: at, tags: [] },
    state: { status: "queued", run: 1, runPosition: 1, dueAt: at },
  }
  return order(id, { create }, instance)
}

describe("schedules of Durable Objects", () => {
  it("fire by their alarm, once for each due time", async () => {
    await client.schedules.create("ticking", { workflow: "plain", every: "500ms", overlap: "allow", input: "tick" })
    await soon(async () => expect(await startedBy("ticking")).toBeGreaterThanOrEqual(3))
    await client.schedules.get("ticking").pause()
    const { counts, recent } = await client.schedules.get("ticking").describe()
    expect(new Set(recent.map(({ scheduledAt }) => scheduledAt)).size).toBe(recent.length)
    for (const { id, scheduledAt } of recent) {
      expect(id).toMatch(/^ticking:\d{4}-/)
      const described = await soon(() => client.describe(id))
      expect(described).toMatchObject({ workflow: "plain", input: "tick", schedule: { id: "ticking", scheduledAt } })
    }
    await soon(async () => {
      const { instances } = await client.list({ workflow: "plain", idPrefix: "ticking:", limit: 1_000 })
      expect(instances).toHaveLength(counts.started)
      expect(new Set(instances.map(({ status }) => status))).toEqual(new Set(["completed"]))
    })
  })

  it("fire on although the object was not in memory, and what an alarm does twice is done once", async () => {
    await client.schedules.create("evicted", { workflow: "plain", every: "1h", startAt: Date.now() + 4_000, input: "x" })
    const due = await client.schedules.get("evicted").describe()
    const alarmAt = await runInDurableObject(schedule("evicted"), (_, { storage }) => storage.getAlarm())
    expect(alarmAt).toBe(due.nextAt)
    await evictDurableObject(schedule("evicted"))
    await soon(async () => expect(await startedBy("evicted")).toBe(1))
    for (let time = 0; time < 3; time++) await runDurableObjectAlarm(schedule("evicted"))
    expect(await startedBy("evicted")).toBe(1)
    const { recent } = await client.schedules.get("evicted").describe()
    expect(recent.map(({ scheduledAt }) => scheduledAt)).toEqual([due.nextAt])
  })

  it("carry out what was decided, although the object went before it could", async () => {
    await client.schedules.create("crashing", { workflow: "plain", every: "1h", startAt: Date.now() + 3_600_000, input: "x" })
    const triggered = await client.schedules.get("crashing").trigger()
    expect(await triggered.result()).toBe("x")
    const { id, incarnation } = await triggered.describe()
    // As after a death between the response and its record: the same order once more, and a new order.
    await orderInstance("crashing", id, incarnation)
    await orderInstance("crashing", "crashing:2026-01-01T00:00:00Z", "incarnation-of-the-second")
    await runDurableObjectAlarm(schedule("crashing"))
    expect(await soon(() => client.get("crashing:2026-01-01T00:00:00Z").result())).toBe("y")
    expect((await triggered.describe()).run).toBe(1)
    await soon(async () => {
      const left = await runInDurableObject(schedule("crashing"), (_, { storage }) => storage.sql.exec("SELECT seq FROM perdure_order").toArray())
      expect(left).toEqual([])
    })
  })

  it("do not begin again what is ordered, and not known to have begun", async () => {
    const startAt = Math.floor(Date.now() / 3_600_000) * 3_600_000
    const id = `slow-orders:${new Date(startAt).toISOString().replace(".000Z", "Z")}`
    await client.schedules.create("slow-orders", { workflow: "plain", every: "1h", startAt, paused: true, input: "x" })
    // An order that cannot be carried out must not block the orders behind it.
    await order("slow-orders", {})
    await orderInstance("slow-orders", id, "incarnation-of-the-first")
    expect(await client.schedules.get("slow-orders").backfill({ from: startAt, to: startAt })).toMatchObject([{ id, outcome: "exists" }])
    expect(await startedBy("slow-orders")).toBe(0)
    await runInDurableObject(schedule("slow-orders"), (_, { storage }) => storage.sql.exec("DELETE FROM perdure_order WHERE creates IS NULL"))
    await runDurableObjectAlarm(schedule("slow-orders"))
    expect(await soon(() => client.get(id).result())).toBe("y")
  })

  it("wait for the instance before, where they are told to, and go on when it ends", async () => {
    await client.schedules.create("queue", { workflow: "only", every: "300ms", overlap: "queue", input: { key: "queue" } })
    const first = await soon(async () => {
      const { recent, waiting } = await client.schedules.get("queue").describe()
      expect(waiting.length).toBeGreaterThan(0)
      return recent.at(-1)?.id ?? ""
    })
    expect(await startedBy("queue")).toBe(1)
    await client.get(first).sendEvent("go")
    await soon(async () => expect(await startedBy("queue")).toBe(2))
    await client.schedules.get("queue").delete()
  })

  it("are paused, resumed, changed, triggered and backfilled", async () => {
    const handle = await client.schedules.create("nightly", {
      workflow: "plain",
      cron: "0 2 * * *",
      timeZone: "Europe/Berlin",
      input: "night",
      overlap: "allow",
    })
    expect(await handle.pause("holidays")).toMatchObject({ accepted: true })
    expect(await handle.pause()).toMatchObject({ accepted: false })
    expect((await handle.describe()).because).toEqual(["it is paused: holidays; resume it"])
    const triggered = await handle.trigger({ input: "now" })
    expect(await triggered.result()).toBe("now")
    await handle.resume()
    await handle.update({ cron: "0 3 * * *" })
    expect(await handle.describe()).toMatchObject({ cron: "0 3 * * *", status: "active", timeZone: "Europe/Berlin" })
    const day = 24 * 60 * 60 * 1_000
    const fired = await handle.backfill({ from: Date.now() - 2 * day, to: Date.now() - 1 })
    expect(fired.map(({ outcome }) => outcome)).toEqual(["started", "started"])
    for (const { id } of fired) expect(await client.get(id).result()).toBe("night")
    expect((await handle.backfill({ from: Date.now() - 2 * day, to: Date.now() - 1 })).map(({ outcome }) => outcome)).toEqual(["exists", "exists"])
  })

  it("exist once by their id", async () => {
    const options = { workflow: "plain", every: "1h", input: "x" } as const
    await client.schedules.create("once", options)
    await expect(client.schedules.create("once", options)).rejects.toMatchObject({ code: "SCHEDULE_EXISTS" })
    await client.schedules.create("once", { ...options, every: "2h", ifExists: "update" })
    expect((await client.schedules.get("once").describe()).everyMs).toBe(7_200_000)
    await expect(client.schedules.create("@index:8:0", options)).rejects.toMatchObject({ code: "BAD_ID" })
    await expect(client.schedules.create("bad", { ...options, workflow: "missing" })).rejects.toMatchObject({ code: "UNKNOWN_WORKFLOW" })
  })

  it("are listed by id, through the shards, and gone when they are deleted", async () => {
    for (const id of ["list-c", "list-a", "list-b"]) await client.schedules.create(id, { workflow: "calm-list", every: "1h", input: "x" })
    const ids = async () => (await client.schedules.list({ workflow: "calm-list" })).schedules.map(({ id }) => id)
    await soon(async () => expect(await ids()).toEqual(["list-a", "list-b", "list-c"]))
    const first = await client.schedules.list({ workflow: "calm-list", limit: 2 })
    expect(first.schedules.map(({ id }) => id)).toEqual(["list-a", "list-b"])
    expect((await client.schedules.list({ workflow: "calm-list", limit: 2, cursor: first.cursor ?? "" })).schedules.map(({ id }) => id)).toEqual(["list-c"])
    await client.schedules.get("list-b").delete()
    await soon(async () => expect(await ids()).toEqual(["list-a", "list-c"]))
    await expect(client.schedules.get("list-b").describe()).rejects.toMatchObject({ code: "SCHEDULE_NOT_FOUND" })
    await soon(async () => {
      const tables = await runInDurableObject(schedule("list-b"), (_, { storage }) =>
        storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'perdure%'").toArray(),
      )
      expect(tables).toEqual([])
    })
    await client.schedules.create("list-b", { workflow: "calm-list", every: "1h", input: "x" })
    await soon(async () => expect(await ids()).toEqual(["list-a", "list-b", "list-c"]))
  })

  it("asking for one that is not there leaves nothing behind", async () => {
    await expect(client.schedules.get("nobody").describe()).rejects.toMatchObject({ code: "SCHEDULE_NOT_FOUND" })
    const tables = await runInDurableObject(schedule("nobody"), (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'perdure%'").toArray(),
    )
    expect(tables).toEqual([])
  })
})
