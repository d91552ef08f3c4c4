// An instance that is over as soon as it has begun is answered for with its start: whoever wants its result need not ask for it.

import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { type ObjectNamespace, workflowClient } from "perdure/cloudflare"
import { beforeEach, describe, expect, it } from "vitest"
import { decodeAnswer, encodeCall } from "../../src/cloudflare/objects/instance-rpc-methods.ts"
import type { RunnerStub } from "../../src/cloudflare/objects/object-rpc.ts"

const { WORKFLOW_RUNNER } = env as { readonly WORKFLOW_RUNNER: DurableObjectNamespace }
const stubOf = (id: string) => WORKFLOW_RUNNER.get(WORKFLOW_RUNNER.idFromName(id)) as unknown as RunnerStub

/** What objects were asked for. */
let asked: string[] = []

const watched = {
  idFromName: (name: string) => name,
  get: (name: string) => ({
    ask: (...args: Parameters<RunnerStub["ask"]>) => {
      asked.push(args[1])
      return stubOf(name).ask(...args)
    },
  }),
} as unknown as ObjectNamespace

const client = workflowClient(watched)

beforeEach(() => {
  asked = []
})

describe("the result of an instance whose only step takes no time", () => {
  it("comes with the answer to its start", async () => {
    const handle = await client.start("counting")
    expect(await handle.result()).toBe(1)
    expect(asked).toEqual(["start"])
  })

  it("comes so where there are a hundred such steps at once", async () => {
    const handle = await client.start("wide", { input: 100 })
    expect(await handle.result()).toBe(100)
    expect(asked).toEqual(["start"])
  })

  it("comes so where it fails as well, before its first step", async () => {
    const handle = await client.start("refusing")
    await expect(handle.result()).rejects.toMatchObject({ name: "NonRetryableError", message: "not this one" })
    expect(asked).toEqual(["start"])
  })

  it("is given once, and asked for from then on", async () => {
    const handle = await client.start("counting")
    expect([await handle.result(), await handle.result()]).toEqual([1, 1])
    expect(asked).toEqual(["start", "result"])
  })

  it("is that of the last run, where it was restarted in between", async () => {
    const handle = await client.start("counting", { id: "counted-anew" })
    await handle.restart()
    expect(await handle.result()).toBe(2)
    expect(asked).toEqual(["start", "restart", "result"])
  })

  it("is so where another client restarted it", async () => {
    const handle = await client.start("counting", { id: "counted-elsewhere" })
    await workflowClient(watched).restart("counted-elsewhere")
    expect(await handle.result()).toBe(2)
    expect(asked).toEqual(["start", "restart", "result"])
  })

  it("is asked for where something was waited for, or where it is wanted of another", async () => {
    const late = await client.start("counting")
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await late.result()).toBe(1)
    const narrow = await client.start("wide", { input: 2 })
    const wide = await client.start("wide", { input: 3 })
    expect([await narrow.result(), await wide.result()]).toEqual([2, 3])
    expect(asked).toEqual(["start", "result", "start", "start", "result", "result"])
  })

  it("is not waited for by those who start many", async () => {
    expect(await client.startBatch([{ workflow: "counting", id: "one-of-many" }])).toEqual([{ id: "one-of-many", created: true }])
  })

  it("does not come to a client that does not know of it", async () => {
    expect(decodeAnswer(await stubOf("unasked").ask("unasked", "start", encodeCall(["counting", {}])))).toBe("unasked")
  })
})

describe("a start is answered before the end", () => {
  it("where something has to be waited for", async () => {
    const handle = await client.start("approval", { input: { amount: 3 } })
    // The first one comes with the answer to the start.
    expect([await handle.status(), await handle.status()]).toEqual(["running", "waiting"])
    await handle.sendEvent("answer", { approved: true })
    expect(await handle.result()).toMatchObject({ amount: 3, approved: true })
    expect(asked).toEqual(["start", "status", "sendEvent", "result"])
  })

  it("where one step follows another", async () => {
    const handle = await client.start("bulky", { input: "text" })
    expect(await handle.result()).toBe("text")
    expect(asked).toEqual(["start", "result"])
  })

  it("of one that is there already, also where it has ended", async () => {
    await (await client.start("counting", { id: "ended-before" })).result()
    const handle = await client.start("counting", { id: "ended-before", ifExists: "return" })
    expect(await handle.result()).toBe(1)
    expect(asked).toEqual(["start", "start", "result"])
  })

  it("also of one that is there already, by whoever started it", async () => {
    const start = () => client.start("greet", { id: "there", input: { name: "Ada", pauseMs: 20 }, ifExists: "return" })
    const handles = await Promise.all([start(), start(), start()])
    expect(await Promise.all(handles.map((handle) => handle.result()))).toHaveLength(3)
  })
})
