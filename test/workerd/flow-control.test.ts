import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { workflowClient } from "perdure/cloudflare"
import { describe, expect, it, vi } from "vitest"
import { inside } from "./flow-runner.ts"

const { FLOW_RUNNER } = env as { readonly FLOW_RUNNER: DurableObjectNamespace }
const client = workflowClient(FLOW_RUNNER)
const stubOf = (name: string) => FLOW_RUNNER.get(FLOW_RUNNER.idFromName(name))
const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}-${at}`)
const statuses = (all: readonly string[]) => Promise.all(all.map((id) => client.get(id).status()))
const allAre = (all: readonly string[], status: string) =>
  vi.waitFor(async () => expect(new Set(await statuses(all))).toEqual(new Set([status])), { timeout: 50_000, interval: 20 })
const membersOf = (key: string) =>
  runInDurableObject(stubOf(`@limit:${key}`), (_, { storage }) => storage.sql.exec("SELECT id, slot FROM perdure_limit_member").toArray())
/** As if its memory was lost at this moment. */
const crash = (id: string) => runInDurableObject(stubOf(id), (_, state) => state.abort("gone")).catch(() => undefined)

/** Starts so many that the key has no slot left, and keeps them; answers those in line. */
async function full(key: string, all: readonly string[]): Promise<readonly string[]> {
  inside.closed.add(key)
  await Promise.all(all.map((id) => client.start("five", { id, input: { key } })))
  await vi.waitFor(() => expect(inside.now.get(key)?.size).toBe(5), { timeout: 50_000, interval: 20 })
  await vi.waitFor(async () => expect(await membersOf(`five/concurrency/${key}`)).toHaveLength(all.length), { timeout: 50_000, interval: 20 })
  return all.filter((id) => !inside.now.get(key)?.has(id))
}

describe("limits of Durable Objects", () => {
  it("a burst on a key with limit 5 never exceeds it, and all come to their turn", async () => {
    const all = ids("burst", 40)
    await Promise.all(all.map((id) => client.start("five", { id, input: { key: "burst" } })))
    await allAre(all, "completed")
    expect(inside.most.get("burst")).toBe(5)
    await vi.waitFor(async () => expect(await membersOf("five/concurrency/burst")).toEqual([]))
  })

  it("keys do not hold each other up", async () => {
    await full("slow", ids("a", 6))
    await client.start("five", { id: "quick", input: { key: "free" } })
    await allAre(["quick"], "completed")
    expect((await statuses(ids("a", 6))).filter((status) => status === "queued")).toHaveLength(1)
    inside.closed.delete("slow")
    await allAre(ids("a", 6), "completed")
  })

  it("says what one in line waits for", async () => {
    const [queued = ""] = await full("why", ids("why", 6))
    const { because } = await client.why(queued)
    expect(because.join(" ")).toMatch(/5/)
    expect(because.join(" ")).toContain([...(inside.now.get("why") ?? [])][0])
    inside.closed.delete("why")
    await allAre(ids("why", 6), "completed")
  })

  it("takes several limits in their order, without waiting for each other for ever", async () => {
    const all = ids("nested", 12)
    await Promise.all(all.map((id, at) => client.start("nested", { id, input: { key: `k${at % 3}` } })))
    await allAre(all, "completed")
    for (const key of ["k0", "k1", "k2"]) expect(inside.most.get(key)).toBe(1)
  })

  it("gives its slot back while it waits, and gets it again to go on", async () => {
    const all = ids("sleepy", 4)
    await Promise.all(all.map((id) => client.start("sleepy", { id, input: { key: "sleepy" } })))
    await allAre(all, "waiting")
    for (const id of all) await client.get(id).sendEvent("go")
    await allAre(all, "completed")
    expect(inside.most.get("sleepy")).toBe(1)
  })

  it("no slot is lost with the memory of an instance or of a limit", async () => {
    const all = ids("crash", 15)
    await full("crash", all)
    const victims = [...(inside.now.get("crash") ?? [])]
    await crash("@limit:five/concurrency/crash")
    for (const id of victims) await crash(id)
    for (const id of victims) inside.now.get("crash")?.delete(id)
    inside.closed.delete("crash")
    // Their alarms would wake them, in a while.
    for (const id of all) await runDurableObjectAlarm(stubOf(id))
    await allAre(all, "completed")
    expect(inside.most.get("crash")).toBeLessThanOrEqual(5)
    await vi.waitFor(async () => expect(await membersOf("five/concurrency/crash")).toEqual([]))
  })

  it("one in line is woken although nobody is in memory", async () => {
    const all = ids("evicted", 8)
    const line = await full("evicted", all)
    expect(line).toHaveLength(3)
    for (const id of line) await evictDurableObject(stubOf(id))
    inside.closed.delete("evicted")
    await allAre(all, "completed")
  })

  it("whoever ends in line leaves it", async () => {
    const line = await full("leave", ids("leave", 7))
    for (const id of line) expect(await client.get(id).terminate()).toMatchObject({ accepted: true })
    inside.closed.delete("leave")
    await allAre(
      ids("leave", 7).filter((id) => !line.includes(id)),
      "completed",
    )
    await vi.waitFor(async () => expect(await membersOf("five/concurrency/leave")).toEqual([]))
  })

  it("keeps to a rate over all instances", async () => {
    const all = ids("paced", 5)
    const begin = Date.now()
    await Promise.all(all.map((id) => client.start("paced", { id })))
    await allAre(all, "completed")
    // Two at once, and then one each half second.
    expect(Date.now() - begin).toBeGreaterThanOrEqual(1_500)
    expect(inside.started.filter(({ id }) => id.startsWith("paced"))).toHaveLength(5)
  })
})

describe("keys that one instance has to itself", () => {
  it("a singleton is refused while another has not ended, and may be started then", async () => {
    await client.start("only", { id: "only-1", input: { key: "k" } })
    await expect(client.start("only", { id: "only-2", input: { key: "k" } })).rejects.toMatchObject({
      code: "SINGLETON_EXISTS",
      details: { instance: "only-1" },
    })
    expect((await client.start("only", { id: "only-2", input: { key: "k" }, ifExists: "return" })).id).toBe("only-1")
    await client.start("only", { id: "other", input: { key: "other" } })
    await client.get("only-1").sendEvent("go")
    await allAre(["only-1"], "completed")
    await vi.waitFor(() => client.start("only", { id: "only-3", input: { key: "k" } }))
    await expect(client.restart("only-1")).rejects.toMatchObject({ code: "SINGLETON_EXISTS" })
    await expect(client.get("only-2").status()).rejects.toMatchObject({ code: "NOT_FOUND" })
  })

  it("of many that are started at once one is there", async () => {
    const started = await Promise.allSettled(ids("race", 10).map((id) => client.start("only", { id, input: { key: "race" } })))
    expect(started.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
  })

  it("a debounced start takes the last input, and begins when it is quiet", async () => {
    const first = await client.start("calm", { id: "calm-1", input: { key: "c", text: "one" } })
    const second = await client.start("calm", { id: "calm-2", input: { key: "c", text: "two" } })
    const third = await client.start("calm", { id: "calm-3", input: { key: "c", text: "three" } })
    expect([first.id, second.id, third.id]).toEqual(["calm-1", "calm-1", "calm-1"])
    await allAre(["calm-1"], "completed")
    expect(inside.started.filter(({ id }) => id.startsWith("calm")).map(({ id, input }) => [id, input])).toEqual([["calm-1", "three"]])
    expect((await vi.waitFor(() => client.start("calm", { id: "calm-4", input: { key: "c", text: "four" } }))).id).toBe("calm-4")
  })
})
