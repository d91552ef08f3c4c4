import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { workflowClient } from "perdure/cloudflare"
import { describe, expect, it } from "vitest"
import { calls } from "./sample-runner.ts"

const { WORKFLOW_RUNNER } = env as { readonly WORKFLOW_RUNNER: DurableObjectNamespace }
const client = workflowClient(WORKFLOW_RUNNER)
const stubOf = (id: string) => WORKFLOW_RUNNER.get(WORKFLOW_RUNNER.idFromName(id))
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const typesOf = async (id: string) => (await client.get(id).history({ limit: 1_000 })).entries.map(({ type }) => type)

/** Runs an instance to its end, and evicts the objects of parent and child once its journal has `evictedAt` entries. */
async function climb(id: string, evictedAt: number): Promise<unknown> {
  const handle = await client.start("ladder", { id })
  let isEvicted = false
  let isSent = false
  for (let tries = 0; tries < 1_000; tries++) {
    const types = await typesOf(id)
    if (!isEvicted && types.length >= evictedAt) {
      isEvicted = true
      for (const one of [id, `${id}-child`]) await evictDurableObject(stubOf(one)).catch(() => undefined)
      // The alarm has to wake the evicted object.
      await pause(40)
      for (const one of [id, `${id}-child`]) await runDurableObjectAlarm(stubOf(one))
      continue
    }
    if (!isSent && types.includes("child.ended")) {
      isSent = true
      await handle.sendEvent("word", "up", { eventId: "word" })
    }
    if (types.includes("run.completed")) return handle.result()
    await pause(5)
  }
  throw new Error(`it is ${await handle.status()} after ${(await typesOf(id)).join(", ")}`)
}

describe("an instance whose object leaves memory", () => {
  it("goes on from every place at which it can be", async () => {
    const result = [1, 1, 11, "up"]
    expect(await climb("ladder-0", Infinity)).toEqual(result)
    const undisturbed = await typesOf("ladder-0")
    expect(undisturbed.length).toBeGreaterThan(18)
    await Promise.all(
      undisturbed.map(async (_, at) => {
        const id = `ladder-${at + 1}`
        const seen = await climb(id, at + 1)
        const types = await typesOf(id)
        const count = (type: string) => types.filter((one) => one === type).length
        // An interrupted attempt is repeated. A recorded step is never repeated.
        expect([id, count("step.completed"), count("sleep.completed"), count("child.ended"), count("wait.completed")]).toEqual([id, 6, 2, 1, 1])
        const cutOff = count("recovered")
        for (const step of ["first", "left", "right", "last"]) expect(calls.get(`${id}/${step}`)).toBeLessThanOrEqual(1 + cutOff)
        // The results are the numbers of the calls.
        expect([id, cutOff === 0 ? seen : result]).toEqual([id, result])
        expect((await client.get(`${id}-child`).describe()).status).toBe("completed")
      }),
    )
  }, 120_000)
})

describe("an instance in a Durable Object", () => {
  it("takes and gives payloads of 8 MiB, and refuses one byte more", async () => {
    // A string of JSON has two quotes.
    const largest = "x".repeat(8 * 1024 * 1024 - 2)
    const handle = await client.start("bulky", { id: "bulky", input: largest })
    expect((await handle.result()) === largest).toBe(true)
    await expect(client.start("bulky", { id: "bulkier", input: `${largest}x` })).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE" })
  }, 120_000)

  it("writes to tables of its code's own, together with its steps", async () => {
    expect(await (await client.start("ledger", { id: "ledger", input: 42 })).result()).toBe(42)
  })

  it("is made where its start wishes", async () => {
    const handle = await client.start("greet", { id: "far", input: { name: "Ada" }, ...{ locationHint: "weur" } })
    expect(await handle.result()).toMatchObject({ hello: "Hello, Ada!" })
  })
})
