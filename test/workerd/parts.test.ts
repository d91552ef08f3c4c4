import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { workflow } from "perdure"
import { codecs, composeWorkflowRunner, flowControl, workflowClient } from "perdure/cloudflare"
import { describe, expect, it } from "vitest"

const { SMALL_RUNNER } = env as { readonly SMALL_RUNNER: DurableObjectNamespace }

const missing = (part: string) => ({ code: "PART_MISSING", details: { part }, message: expect.stringContaining(`parts: [${part}]`) as string })

describe("a runner without parts", () => {
  const client = workflowClient(SMALL_RUNNER)

  it("runs instances, their children and events, and has them listed", async () => {
    const handle = await client.start("noted", { id: "small", input: "ada" })
    await handle.sendEvent("go")
    await expect(handle.result({ timeout: "20s" })).resolves.toBe("Hello, ADA!")
    await expect.poll(async () => (await client.list({ workflow: "noted" })).instances.map(({ id, status }) => [id, status])).toEqual([["small", "completed"]])
  })

  it("says which part a call lacks, and goes on", async () => {
    const handle = await client.start("noted", { id: "asked", input: "bob" })
    await expect(handle.query("name")).rejects.toMatchObject(missing("queries"))
    await expect(handle.update("name")).rejects.toMatchObject(missing("queries"))
    await expect(handle.why()).rejects.toMatchObject(missing("why"))
    await expect(handle.changes()[Symbol.asyncIterator]().next()).rejects.toMatchObject(missing("changes"))
    await expect(client.schedules.create("nightly", { workflow: "leaf", cron: "0 3 * * *", input: "x" })).rejects.toMatchObject(missing("schedules"))
    await expect(client.schedules.list()).rejects.toMatchObject(missing("schedules"))
    await expect(client.limits.get("leaf")).rejects.toMatchObject(missing("flowControl"))
    await expect(client.start("leaf", { id: "first", input: "x", priority: 5 })).rejects.toMatchObject(missing("flowControl"))
    await handle.sendEvent("go")
    await expect(handle.result({ timeout: "20s" })).resolves.toBe("Hello, BOB!")
  })

  it("fails a transaction at once, without another attempt", async () => {
    const handle = await client.start("writing", { id: "writes" })
    await expect(handle.result({ timeout: "20s" })).rejects.toMatchObject({ code: "STEP_FAILED", details: { attempts: 1 }, cause: missing("transactions") })
  })
})

it("a codec is refused when its runner is made, unless that has the part", () => {
  const codec = { id: "same", encode: (bytes: Uint8Array) => bytes, decode: (bytes: Uint8Array) => bytes }
  expect(() => composeWorkflowRunner({ workflows: [], codec, parts: [] })).toThrow(expect.objectContaining(missing("codecs")))
  expect(() => composeWorkflowRunner({ workflows: [], codec, parts: [codecs] })).not.toThrow()
})

it("a workflow with flow control is refused when its runner is made, unless that has the part", () => {
  const limited = workflow("limited", { concurrency: 2 }, async () => undefined)
  const alone = workflow("alone", { singleton: true }, async () => undefined)
  for (const one of [limited, alone]) {
    expect(() => composeWorkflowRunner({ workflows: [one], parts: [] })).toThrow(expect.objectContaining(missing("flowControl")))
    expect(() => composeWorkflowRunner({ workflows: [one], parts: [flowControl] })).not.toThrow()
  }
})
