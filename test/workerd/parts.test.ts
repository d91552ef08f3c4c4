import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { workflow } from "perdure"
import { codecs, composeWorkflowRunner, flowControl, hooks, workflowClient } from "perdure/cloudflare"
import { describe, expect, it } from "vitest"
import { endings } from "./small-runner.ts"

const { SMALL_RUNNER, SOME_RUNNER } = env as { readonly SMALL_RUNNER: DurableObjectNamespace; readonly SOME_RUNNER: DurableObjectNamespace }

const missing = (part: string) => ({ code: "PART_MISSING", details: { part }, message: expect.stringContaining(`parts: [${part}]`) as string })

describe("a runner without parts", () => {
  const client = workflowClient(SMALL_RUNNER)

  it("runs instances, sends them events, and has them listed", async () => {
    const handle = await client.start("noted", { id: "small", input: "ada" })
    await handle.sendEvent("go")
    await expect(handle.result({ timeout: "20s" })).resolves.toBe("Hello, ada!")
    await expect.poll(async () => (await client.list({ workflow: "noted" })).instances.map(({ id, status }) => [id, status])).toEqual([["small", "completed"]])
  })

  it("says which part a call lacks, and goes on", async () => {
    const handle = await client.start("noted", { id: "asked", input: "bob" })
    await expect(handle.query("name")).rejects.toMatchObject(missing("queries"))
    await expect(handle.update("name")).rejects.toMatchObject(missing("queries"))
    await expect(handle.describe()).rejects.toMatchObject(missing("history"))
    await expect(handle.steps()).rejects.toMatchObject(missing("history"))
    await expect(handle.history()).rejects.toMatchObject(missing("history"))
    await expect(handle.restart()).rejects.toMatchObject(missing("restarts"))
    await expect(handle.fork({ id: "forked" })).rejects.toMatchObject(missing("restarts"))
    await expect(client.changes()[Symbol.asyncIterator]().next()).rejects.toMatchObject(missing("changes"))
    await expect(handle.why()).rejects.toMatchObject(missing("why"))
    await expect(handle.changes()[Symbol.asyncIterator]().next()).rejects.toMatchObject(missing("changes"))
    await expect(client.schedules.create("nightly", { workflow: "leaf", cron: "0 3 * * *", input: "x" })).rejects.toMatchObject(missing("schedules"))
    await expect(client.schedules.list()).rejects.toMatchObject(missing("schedules"))
    await expect(client.limits.get("leaf")).rejects.toMatchObject(missing("flowControl"))
    await expect(client.start("leaf", { id: "first", input: "x", priority: 5 })).rejects.toMatchObject(missing("flowControl"))
    await handle.sendEvent("go")
    await expect(handle.result({ timeout: "20s" })).resolves.toBe("Hello, bob!")
  })

  it("pauses, resumes, cancels, terminates and deletes", async () => {
    const handle = await client.start("noted", { id: "controlled", input: "eve" })
    await expect.poll(() => handle.status()).toBe("waiting")
    await handle.pause()
    await expect.poll(() => handle.status()).toBe("paused")
    await handle.resume()
    await expect.poll(() => handle.status()).toBe("waiting")
    await handle.cancel("enough")
    await expect(handle.result({ timeout: "20s" })).rejects.toMatchObject({ code: "CANCELLED" })
    const other = await client.start("noted", { id: "terminated", input: "eve" })
    await other.terminate("enough")
    await expect(other.result({ timeout: "20s" })).rejects.toMatchObject({ code: "TERMINATED" })
    await other.delete()
    await expect(other.status()).rejects.toMatchObject({ code: "NOT_FOUND" })
  })

  it("finds instances by the tags that they were started with, and fails one that wants to change its own", async () => {
    const tags = ["blue"]
    const handle = await client.start("noted", { id: "blue", input: "ada", tags })
    await handle.sendEvent("go")
    await expect(handle.result({ timeout: "20s" })).resolves.toBe("Hello, ada!")
    await expect.poll(async () => (await client.list({ tag: "blue" })).instances.map(({ id }) => id)).toEqual(["blue"])
    const noting = await client.start("tagged", { id: "tagged", tags })
    await expect(noting.result({ timeout: "20s" })).rejects.toMatchObject(missing("annotations"))
  })

  it("fails an instance that wants a child", async () => {
    const handle = await client.start("family", { id: "childless", input: "ada" })
    await expect(handle.result({ timeout: "20s" })).rejects.toMatchObject(missing("children"))
  })

  it("fails a step that asks for one inside it, without another attempt", async () => {
    const handle = await client.start("nesting", { id: "nests", input: "ada" })
    await expect(handle.result({ timeout: "20s" })).rejects.toMatchObject({ code: "STEP_FAILED", details: { attempts: 1 }, cause: missing("nestedSteps") })
  })

  it("fails a transaction at once, without another attempt", async () => {
    const handle = await client.start("writing", { id: "writes" })
    await expect(handle.result({ timeout: "20s" })).rejects.toMatchObject({ code: "STEP_FAILED", details: { attempts: 1 }, cause: missing("transactions") })
  })
})

describe("a runner with some parts", () => {
  const client = workflowClient(SOME_RUNNER)

  it("has what these bring: children, hooks, history, restarts, steps inside steps, notes and changes", async () => {
    const handle = await client.start("told", { id: "some", input: "ada" })
    await expect(handle.result({ timeout: "20s" })).resolves.toBe("Hello, ADA!")
    await expect.poll(() => endings).toEqual(["some"])
    await expect(handle.steps()).resolves.toMatchObject([{ name: "some-leaf", type: "child" }, { name: "greet" }])
    await expect(handle.describe()).resolves.toMatchObject({ status: "completed", result: "Hello, ADA!", run: 1 })
    await handle.restart({ from: "greet" })
    await expect.poll(() => endings).toEqual(["some", "some"])
    await expect(handle.describe()).resolves.toMatchObject({ status: "completed", run: 2 })
    await expect((await client.start("nesting", { id: "nests", input: "ada" })).result({ timeout: "20s" })).resolves.toBe("ADA")
    await expect((await client.start("tagged", { id: "tagged", tags: ["blue"] })).result({ timeout: "20s" })).resolves.toEqual(["blue", "seen"])
    const changes = client.changes()[Symbol.asyncIterator]()
    await expect(changes.next()).resolves.toMatchObject({ value: { type: "workflow.started" } })
  })

  it("has nothing of the others", async () => {
    await expect(client.get("some").why()).rejects.toMatchObject(missing("why"))
    await expect(client.schedules.list()).rejects.toMatchObject(missing("schedules"))
  })
})

it("hooks are refused when their runner is made, unless that has the part", () => {
  const told = workflow("told", { onFailed: () => undefined }, async () => undefined)
  expect(() => composeWorkflowRunner({ workflows: [told], parts: [] })).toThrow(expect.objectContaining(missing("hooks")))
  expect(() => composeWorkflowRunner({ workflows: [], onCompleted: () => undefined, parts: [] })).toThrow(expect.objectContaining(missing("hooks")))
  expect(() => composeWorkflowRunner({ workflows: [told], onCompleted: () => undefined, parts: [hooks] })).not.toThrow()
})

it("a bound on steps that run at the same time is refused when its runner is made, unless that has the part", () => {
  expect(() => composeWorkflowRunner({ workflows: [], maxConcurrentSteps: 2, parts: [] })).toThrow(expect.objectContaining(missing("flowControl")))
  expect(() => composeWorkflowRunner({ workflows: [], maxConcurrentSteps: 2, parts: [flowControl] })).not.toThrow()
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
