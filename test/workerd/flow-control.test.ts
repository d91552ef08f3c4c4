import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { workflowClient } from "perdure/cloudflare"
import { describe, expect, it } from "vitest"
import { soon } from "./eventually.ts"
import { inside } from "./flow-runner.ts"

const { FLOW_RUNNER } = env as { readonly FLOW_RUNNER: DurableObjectNamespace }
const client = workflowClient(FLOW_RUNNER)
const stubOf = (name: string) => FLOW_RUNNER.get(FLOW_RUNNER.idFromName(name))
const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}-${at}`)
const statuses = (all: readonly string[]) => Promise.all(all.map((id) => client.get(id).status()))
const allAre = (all: readonly string[], status: string) => soon(async () => expect(new Set(await statuses(all))).toEqual(new Set([status])))
const membersOf = (key: string) =>
  runInDurableObject(stubOf(`@limit:${key}`), (_, { storage }) => storage.sql.exec("SELECT id, slot FROM perdure_limit_member").toArray())
/** Aborts the object, which loses its memory. */
const crash = (id: string) => runInDurableObject(stubOf(id), (_, state) => state.abort("gone")).catch(() => undefined)

/** Starts instances until the key has no slot left, and keeps them at work. Returns the queued instances. */
async function full(key: string, all: readonly string[]): Promise<readonly string[]> {
  inside.closed.add(key)
  await Promise.all(all.map((id) => client.start("five", { id, input: { key } })))
  await soon(() => expect(inside.now.get(key)?.size).toBe(5))
  await soon(async () => expect(await membersOf(`five/concurrency/${key}`)).toHaveLength(all.length))
  return all.filter((id) => !inside.now.get(key)?.has(id))
}

describe("limits of Durable Objects", () => {
  it("a burst on a key with limit 5 never exceeds it, and all come to their turn", async () => {
    const all = ids("burst", 40)
    await Promise.all(all.map((id) => client.start("five", { id, input: { key: "burst" } })))
    await allAre(all, "completed")
    expect(inside.most.get("burst")).toBe(5)
    await soon(async () => expect(await membersOf("five/concurrency/burst")).toEqual([]))
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
    // Their alarms would wake them later.
    for (const id of all) await runDurableObjectAlarm(stubOf(id))
    await allAre(all, "completed")
    expect(inside.most.get("crash")).toBeLessThanOrEqual(5)
    await soon(async () => expect(await membersOf("five/concurrency/crash")).toEqual([]))
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
    await soon(async () => expect(await membersOf("five/concurrency/leave")).toEqual([]))
  })

  it("keeps to a rate over all instances", async () => {
    const all = ids("paced", 5)
    const begin = Date.now()
    await Promise.all(all.map((id) => client.start("paced", { id })))
    await allAre(all, "completed")
    // Two instances start at once, and then one each half second.
    expect(Date.now() - begin).toBeGreaterThanOrEqual(1_500)
    expect(inside.started.filter(({ id }) => id.startsWith("paced"))).toHaveLength(5)
  })
})

describe("limits changed while they run", () => {
  const running = (key: string) => inside.now.get(key)?.size ?? 0

  it("are told as the code says and as they were set, and a limit that is not there cannot be set", async () => {
    expect(await client.limits.get("paced")).toEqual({ concurrency: [], rateLimit: { limit: 2, perMs: 1_000 } })
    await client.limits.set("paced", { rateLimit: { limit: 7, per: "1m" } })
    const declared = { limit: 2, perMs: 1_000 }
    expect(await client.limits.get("paced")).toEqual({ concurrency: [], rateLimit: { limit: 7, perMs: 60_000, declared } })
    await client.limits.reset("paced")
    expect(await client.limits.get("paced")).toEqual({ concurrency: [], rateLimit: declared })
    await expect(client.limits.set("paced", { concurrency: 3 })).rejects.toMatchObject({ code: "UNKNOWN_LIMIT" })
    await expect(client.limits.set("nobody", { concurrency: 3 })).rejects.toMatchObject({ code: "UNKNOWN_LIMIT" })
  })

  it("a higher one lets in at once in every key, a lower one lets those finish who are in, and both hold for keys that come later", async () => {
    const all = [...ids("set-a", 12), ...ids("set-b", 8)]
    await full("set-a", ids("set-a", 12))
    await full("set-b", ids("set-b", 8))
    await client.limits.set("five", { concurrency: 7 })
    await soon(() => expect([running("set-a"), running("set-b")]).toEqual([7, 7]))
    await client.limits.set("five", { concurrency: 1 })
    inside.closed.add("set-c")
    await Promise.all(ids("set-c", 3).map((id) => client.start("five", { id, input: { key: "set-c" } })))
    await soon(async () => expect(await membersOf("five/concurrency/set-c")).toHaveLength(3))
    await soon(() => expect(running("set-c")).toBe(1))
    expect((await statuses(ids("set-c", 3))).toSorted()).toEqual(["queued", "queued", "running"])
    // This holds also after the objects have left memory.
    for (const key of ["set-a", "set-b", "set-c"]) await evictDurableObject(stubOf(`@limit:five/concurrency/${key}`))
    await evictDurableObject(stubOf("@limit-settings:five"))
    inside.most.clear()
    inside.closed.delete("set-c")
    await allAre(ids("set-c", 3), "completed")
    expect(inside.most.get("set-c") ?? 1).toBe(1)
    await client.limits.reset("five")
    expect(await client.limits.get("five")).toEqual({ concurrency: [{ limit: 5 }] })
    for (const key of ["set-a", "set-b"]) inside.closed.delete(key)
    await allAre(all, "completed")
  })

  it("0 lets nobody begin, and says so", async () => {
    await client.limits.set("sleepy", { concurrency: 0 })
    await client.start("sleepy", { id: "barred", input: { key: "barred" } })
    await soon(async () => expect(await membersOf("sleepy/concurrency")).toHaveLength(1))
    expect((await client.why("barred")).because[0]).toContain("lets nobody in")
    expect(await client.get("barred").status()).toBe("queued")
    await client.limits.reset("sleepy")
    await allAre(["barred"], "waiting")
    await client.get("barred").sendEvent("go")
    await allAre(["barred"], "completed")
  })

  it("a key that does not hear of it is told again, and holds up no other", async () => {
    await full("deaf", ids("deaf", 6))
    await full("hears", ids("hears", 6))
    inside.deaf.add("@limit:five/concurrency/deaf")
    await client.limits.set("five", { concurrency: 6 })
    await soon(() => expect(running("hears")).toBe(6))
    expect(running("deaf")).toBe(5)
    inside.deaf.clear()
    await soon(() => expect(running("deaf")).toBe(6))
    await client.limits.reset("five")
    for (const key of ["deaf", "hears"]) inside.closed.delete(key)
    await allAre([...ids("deaf", 6), ...ids("hears", 6)], "completed")
  })
})

describe("objects that nobody needs any more", () => {
  const tablesOf = (name: string) =>
    runInDurableObject(stubOf(name), (_, { storage }) => storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'perdure%'").toArray())

  it("a key is emptied when nobody has it or waits for it, and is as good as new then", async () => {
    const key = "@limit:five/concurrency/emptied"
    await full("emptied", ids("emptied", 6))
    await runDurableObjectAlarm(stubOf(key))
    expect(await membersOf("five/concurrency/emptied")).toHaveLength(6)
    inside.closed.delete("emptied")
    await allAre(ids("emptied", 6), "completed")
    await soon(async () => expect(await membersOf("five/concurrency/emptied")).toEqual([]))
    expect(await runInDurableObject(stubOf(key), (_, { storage }) => storage.getAlarm())).toBeGreaterThan(Date.now() + 50_000)
    await client.limits.set("five", { concurrency: 2 })
    await runDurableObjectAlarm(stubOf(key))
    expect(await tablesOf(key)).toEqual([])
    expect(await runInDurableObject(stubOf(key), (_, { storage }) => storage.getAlarm())).toBe(null)
    // The changed limit holds, although the emptied key has lost it.
    inside.most.delete("emptied")
    await Promise.all(ids("again", 6).map((id) => client.start("five", { id, input: { key: "emptied" } })))
    await allAre(ids("again", 6), "completed")
    expect(inside.most.get("emptied")).toBe(2)
    await client.limits.reset("five")
  })

  it("a key that is asked for while it is being emptied loses no slot and exceeds nothing", async () => {
    const key = "@limit:five/concurrency/torn"
    for (let round = 0; round < 3; round++) {
      const all = ids(`torn-${round}`, 8)
      const started = Promise.all(all.map((id) => client.start("five", { id, input: { key: "torn" } })))
      await Promise.all([started, ...Array.from({ length: 5 }, () => runDurableObjectAlarm(stubOf(key)))])
      await allAre(all, "completed")
      await runDurableObjectAlarm(stubOf(key))
    }
    expect(inside.most.get("torn")).toBe(5)
    await soon(async () => {
      await runDurableObjectAlarm(stubOf(key))
      expect(await tablesOf(key)).toEqual([])
    })
  })

  it("a rate is remembered until it has nothing to say any more", async () => {
    await client.limits.set("paced", { rateLimit: { limit: 1, per: "6s" } })
    await client.start("paced", { id: "rated" })
    await allAre(["rated"], "completed")
    await soon(async () => expect(await membersOf("paced/rate")).toEqual([]))
    await runDurableObjectAlarm(stubOf("@limit:paced/rate"))
    expect(await tablesOf("@limit:paced/rate")).not.toEqual([])
    await soon(async () => {
      await runDurableObjectAlarm(stubOf("@limit:paced/rate"))
      expect(await tablesOf("@limit:paced/rate")).toEqual([])
    })
    await client.limits.reset("paced")
    await runDurableObjectAlarm(stubOf("@limit-settings:paced"))
    expect(await tablesOf("@limit-settings:paced")).toEqual([])
  })

  it("asking for the limits of a workflow, or for the holder of a key, leaves nothing behind", async () => {
    await client.limits.get("plain")
    await client.limits.reset("plain")
    expect(await tablesOf("@limit-settings:plain")).toEqual([])
    expect(await (stubOf("@limit:nested/unused") as unknown as { slotHolder(): Promise<unknown> }).slotHolder()).toBeUndefined()
    expect(await tablesOf("@limit:nested/unused")).toEqual([])
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
    await soon(() => client.start("only", { id: "only-3", input: { key: "k" } }))
    await expect(client.restart("only-1")).rejects.toMatchObject({ code: "SINGLETON_EXISTS" })
    await expect(client.get("only-2").status()).rejects.toMatchObject({ code: "NOT_FOUND" })
  })

  it("a restart takes the key again, and is refused while another has it", async () => {
    const first = await client.start("only", { id: "first", input: { key: "restarted" } })
    await first.terminate()
    const second = await soon(() => client.start("only", { id: "second", input: { key: "restarted" } }))
    await expect(first.restart()).rejects.toMatchObject({ code: "SINGLETON_EXISTS", details: { instance: "second" } })
    await expect(first.fork({ id: "third" })).rejects.toMatchObject({ code: "SINGLETON_EXISTS", details: { instance: "second" } })
    await second.terminate()
    await soon(() => first.restart())
    await expect(client.start("only", { id: "fourth", input: { key: "restarted" } })).rejects.toMatchObject({
      code: "SINGLETON_EXISTS",
      details: { instance: "first" },
    })
    await first.sendEvent("go")
    await allAre(["first"], "completed")
    await soon(async () => expect(await membersOf("!singleton/only/restarted")).toEqual([]))
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
    expect((await soon(() => client.start("calm", { id: "calm-4", input: { key: "c", text: "four" } }))).id).toBe("calm-4")
  })
})
