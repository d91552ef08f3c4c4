import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { PerdureError } from "perdure"
import { workflowClient } from "perdure/cloudflare"
import { describe, expect, it } from "vitest"
import { soon } from "./eventually.ts"
import { calls } from "./sample-runner.ts"

const { WORKFLOW_RUNNER, TROUBLE_RUNNER } = env as { readonly WORKFLOW_RUNNER: DurableObjectNamespace; readonly TROUBLE_RUNNER: DurableObjectNamespace }
const client = workflowClient(WORKFLOW_RUNNER)
const troubled = workflowClient(TROUBLE_RUNNER)
const stubOf = (id: string) => WORKFLOW_RUNNER.get(WORKFLOW_RUNNER.idFromName(id))

const code = async (promise: Promise<unknown>) => {
  try {
    return void (await promise)
  } catch (error) {
    return PerdureError.is(error) ? error.code : error
  }
}

function tablesOf(id: string): Promise<unknown[]> {
  const query = "SELECT name FROM sqlite_master WHERE name LIKE 'perdure%'"
  return runInDurableObject(stubOf(id), (_, { storage }) => storage.sql.exec(query).toArray())
}

/** The alarm of the object, after all its messages have arrived. */
async function settledAlarm(id: string): Promise<number | null> {
  return soon(() =>
    runInDurableObject(stubOf(id), (_, { storage }) => {
      const query = "SELECT indexed_up_to = (SELECT max(position + count - 1) FROM perdure_journal) AS hasHeard FROM perdure_index_progress"
      expect(storage.sql.exec(query).toArray()).toEqual([{ hasHeard: 1 }])
      return storage.getAlarm()
    }),
  )
}

async function until(id: string, status: string): Promise<void> {
  await soon(async () => expect(await client.get(id).status()).toBe(status))
}

describe("an instance in a Durable Object", () => {
  it("runs its steps, sleeps, and ends with its result", async () => {
    const handle = await client.start("greet", { id: "greet-1", input: { name: "Ada" } })
    expect(await handle.result()).toEqual({ hello: "Hello, Ada!", length: 11 })
    expect(await handle.status()).toBe("completed")
    expect(calls.get("greet-1/hello")).toBe(1)
  })

  it("waits for an event, and takes it once", async () => {
    const handle = await client.start("approval", { id: "approval-1", input: { amount: 5 } })
    await until("approval-1", "waiting")
    await handle.sendEvent("answer", { approved: true }, { eventId: "a" })
    await handle.sendEvent("answer", { approved: true }, { eventId: "a" }).catch(() => undefined)
    expect(await handle.result()).toEqual({ amount: 5, approved: true, done: 1 })
  })

  it("takes a burst of events in the order in which they were sent, each once", async () => {
    const numbers = Array.from({ length: 600 }, (_, index) => index)
    const handle = await client.start("taker", { id: "burst-1", input: numbers.length })
    await until("burst-1", "waiting")
    await Promise.all(numbers.map((number) => handle.sendEvent("number", number)))
    expect(await handle.result()).toEqual(numbers)
  })

  it("fails with the error of its code", async () => {
    const handle = await client.start("failing", { id: "failing-1" })
    await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", cause: { name: "RangeError", message: "broken 2" } })
    expect((await handle.describe()).status).toBe("failed")
  })

  it("is started once: again with another input is an error", async () => {
    await client.start("greet", { id: "once", input: { name: "Ada" } })
    expect(await code(client.start("greet", { id: "once", input: { name: "Ada" } }))).toBe("ID_EXISTS")
    expect((await client.start("greet", { id: "once", input: { name: "Ada" }, ifExists: "return" })).id).toBe("once")
    expect(await code(client.start("greet", { id: "once", input: { name: "Bob" }, ifExists: "return" }))).toBe("ID_CONFLICT")
  })

  it("is unknown where nothing was started, and asking leaves nothing behind", async () => {
    expect(await code(client.get("nobody").status())).toBe("NOT_FOUND")
    expect(await code(client.start("missing", { id: "nobody" }))).toBe("UNKNOWN_WORKFLOW")
    expect(await tablesOf("nobody")).toEqual([])
  })

  it("cannot have a name that no id may have", async () => {
    expect(await code(client.start("greet", { id: "$index/1", input: { name: "Ada" } }))).toBe("BAD_ID")
    expect(await code(client.get("$code").status())).toBe("BAD_ID")
  })

  it("sleeps on its alarm while it is not in memory", async () => {
    await client.start("greet", { id: "sleeper", input: { name: "Ada", pauseMs: 3_600_000 } })
    await until("sleeper", "sleeping")
    const alarmAt = await settledAlarm("sleeper")
    const dueAt = await runInDurableObject(
      stubOf("sleeper"),
      (_, { storage }) => storage.sql.exec("SELECT due_at FROM perdure_instance").toArray()[0]?.["due_at"],
    )
    expect(alarmAt).toBe(dueAt)
    await evictDurableObject(stubOf("sleeper"))
    // The alarm is too early, so nothing happens and the alarm is set again.
    expect(await runDurableObjectAlarm(stubOf("sleeper"))).toBe(true)
    expect(await client.get("sleeper").status()).toBe("sleeping")
    expect(await runInDurableObject(stubOf("sleeper"), (_, { storage }) => storage.getAlarm())).toBe(dueAt)
    expect(calls.get("sleeper/hello")).toBe(1)
  })

  it("goes on where it was after an eviction", async () => {
    const handle = await client.start("approval", { id: "evicted", input: { amount: 7 } })
    await until("evicted", "waiting")
    await evictDurableObject(stubOf("evicted"))
    expect(await handle.status()).toBe("waiting")
    await evictDurableObject(stubOf("evicted"))
    await handle.sendEvent("answer", { approved: false })
    expect(await handle.result()).toEqual({ amount: 7, approved: false, done: 1 })
    expect(calls.get("evicted/ask")).toBe(1)
  })

  it("may leave memory when its result is known: nothing is left of the wait for it", { timeout: 10_000 }, async () => {
    await (await client.start("greet", { id: "left", input: { name: "Ada" } })).result()
    await evictDurableObject(stubOf("left"))
    expect(await client.get("left").status()).toBe("completed")
  })

  it("has no alarm once it is over", async () => {
    await (await client.start("greet", { id: "over", input: { name: "Ada" } })).result()
    expect(await settledAlarm("over")).toBe(null)
  })

  it("leaves nothing behind when it is deleted, and its id is free", async () => {
    const handle = await client.start("greet", { id: "deleted", input: { name: "Ada" } })
    await handle.result()
    await handle.delete()
    expect(await code(handle.status())).toBe("NOT_FOUND")
    // The index gets its update first.
    await soon(async () => expect(await tablesOf("deleted")).toEqual([]))
    expect(await (await client.start("greet", { id: "deleted", input: { name: "Bob" } })).result()).toEqual({ hello: "Hello, Bob! Again.", length: 18 })
  })
})

describe("instances in other objects", () => {
  it("are started by their parent, which gets their results", async () => {
    const handle = await client.start("parent", { id: "family", input: { names: ["a", "b", "c"] } })
    expect(await handle.result()).toEqual(["Hello, a!", "Hello, b!", "Hello, c!"])
  })

  it("are cancelled when their parent ends before them", async () => {
    const handle = await client.start("guardian", { id: "guardian" })
    await until("guardian", "waiting")
    expect(await client.get("guardian-ward").status()).toMatch(/running|waiting/)
    await handle.terminate("enough")
    await until("guardian-ward", "cancelled")
  })

  it("are forked into an object of their own", async () => {
    const handle = await client.start("approval", { id: "original", input: { amount: 3 } })
    await until("original", "waiting")
    const fork = await handle.fork({ id: "copy", input: { amount: 4 } })
    await until("copy", "waiting")
    await fork.sendEvent("answer", { approved: true })
    expect(await fork.result()).toMatchObject({ amount: 4, approved: true })
    expect(await handle.status()).toBe("waiting")
  })
})

describe("an instance whose code calls through the binding", () => {
  it.each(["update", "result"] as const)("is told that its own %s never comes", async (what) => {
    const handle = await troubled.start("self-asking", { id: `self-${what}`, input: { what } })
    await expect(handle.result({ timeout: "20s" })).rejects.toMatchObject({ cause: { code: "SELF_CALL", details: { instance: `self-${what}`, step: "ask" } } })
  })

  it("may update another instance", async () => {
    await troubled.start("asked", { id: "other" })
    const handle = await troubled.start("self-asking", { id: "asks-other", input: { what: "update", of: "other" } })
    expect(await handle.result({ timeout: "20s" })).toBe(2)
  })
})
