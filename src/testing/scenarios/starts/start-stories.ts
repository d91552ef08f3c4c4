import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import type { OpenBed } from "../scenario-bed.ts"

export function startStories(open: OpenBed): void {
  const echo = workflow("echo", async (_ctx: Context, input: unknown) => input)
  const other = workflow("other", async (_ctx: Context, input: unknown) => input)

  describe("start", () => {
    it("gives an id where none is given, another each time", async () => {
      const engine = await open({ workflows: [echo] })
      const handles = await Promise.all(Array.from({ length: 20 }, () => engine.start(echo)))
      expect(new Set(handles.map(({ id }) => id)).size).toBe(20)
    })

    it("by name takes the last version registered, or the one that is asked for", async () => {
      const flow = (version: string) => workflow("flow", { version }, async () => version)
      const engine = await open({ workflows: [flow("1"), flow("3"), flow("2")] })
      expect(await (await engine.start("flow")).result()).toBe("2")
      expect(await (await engine.start("flow", { version: "3" })).result()).toBe("3")
    })

    it("with an id that exists is refused, whatever became of the instance", async () => {
      const engine = await open({ workflows: [echo] })
      const handle = await engine.start(echo, { id: "i", input: 1 })
      for (const step of [() => engine.settle(), () => handle.result(), () => engine.crash()]) {
        await step()
        await expect(engine.start(echo, { id: "i", input: 1 })).rejects.toMatchObject({ code: "ID_EXISTS", details: { instance: "i" } })
      }
      expect(await engine.count({}, "status")).toEqual({ completed: 1 })
    })

    it("with an id that exists disturbs nothing of the instance that has it, whatever happens to that at the same moment", async () => {
      const gate = new Gate()
      let calls = 0
      const busy = workflow("busy", async (ctx: Context<{ note: number }>) => {
        await ctx.do("work", () => (calls++, gate.passed))
        return ctx.waitForEvent("note")
      })
      const engine = await open({ workflows: [busy] })
      const handle = await engine.start(busy, { id: "i" })
      await engine.settle()
      await Promise.all([engine.start(busy, { id: "i", ifExists: "return" }), handle.sendEvent("note", 1)])
      await engine.settle()
      gate.open()
      expect(await handle.result()).toBe(1)
      expect(calls).toBe(1)
      expect((await handle.steps()).find(({ name }) => name === "work")?.attempts).toBe(1)
    })

    it("sent again with its requestId is the same start, at the same time and later, and no other's", async () => {
      const engine = await open({ workflows: [echo] })
      const requestId = "0123456789abcdef"
      const starts = await Promise.all(Array.from({ length: 5 }, () => engine.start(echo, { id: "i", input: 1, requestId })))
      expect(starts.map(({ id }) => id)).toEqual(["i", "i", "i", "i", "i"])
      expect(await starts[0]?.result()).toBe(1)
      await engine.crash()
      expect((await engine.start(echo, { id: "i", input: 1, requestId })).id).toBe("i")
      expect(await engine.startBatch([{ workflow: echo, id: "i", input: 1, requestId }])).toEqual([{ id: "i", created: true }])
      await expect(engine.start(echo, { id: "i", input: 1, requestId: "another-request-id" })).rejects.toMatchObject({ code: "ID_EXISTS" })
      await expect(engine.start(echo, { id: "i", input: 1 })).rejects.toMatchObject({ code: "ID_EXISTS" })
      await expect(engine.start(echo, { id: "j", input: 1, requestId: "short" })).rejects.toMatchObject({ code: "BAD_OPTION" })
      for (let i = 0; i < 2; i++) expect((await engine.get("i").fork({ id: "f", requestId: "fork-fork-fork-fork" })).id).toBe("f")
      await expect(engine.get("i").fork({ id: "f", requestId })).rejects.toMatchObject({ code: "ID_EXISTS" })
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 2 })
    })

    it('with ifExists: "return" gives the instance that is there, if workflow and input are the same', async () => {
      const engine = await open({ workflows: [echo, other] })
      const input = { a: 1, at: new Date(5) }
      await engine.start(echo, { id: "i", input })
      const again = await engine.start(echo, { id: "i", input: { a: 1, at: new Date(5) }, ifExists: "return" })
      expect(await again.result()).toEqual(input)
      expect((await again.describe()).run).toBe(1)
      await expect(engine.start(echo, { id: "i", input: { a: 2 }, ifExists: "return" })).rejects.toMatchObject({ code: "ID_CONFLICT" })
      await expect(engine.start(other, { id: "i", input, ifExists: "return" })).rejects.toMatchObject({ code: "ID_CONFLICT" })
      const restarted = await again.restart()
      expect(restarted.accepted).toBe(true)
      expect((await engine.start(echo, { id: "i", input, ifExists: "return" })).id).toBe("i")
    })

    it("of the same id from many sides at once makes one instance", async () => {
      let runs = 0
      const flow = workflow("flow", (ctx) => ctx.do("run", () => ++runs))
      const engine = await open({ workflows: [flow] })
      const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => engine.start(flow, { id: "i" })))
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
      const returned = await Promise.all(Array.from({ length: 10 }, () => engine.start(flow, { id: "i", ifExists: "return" })))
      expect(await Promise.all(returned.map((handle) => handle.result()))).toEqual(Array.from({ length: 10 }, () => 1))
      expect(runs).toBe(1)
    })

    it("with a delay or a time begins then, over a crash", async () => {
      const flow = workflow("flow", async (ctx) => ctx.now())
      const engine = await open({ workflows: [flow] })
      const begin = engine.now()
      const delayed = await engine.start(flow, { delay: "1h" })
      const dated = await engine.start(flow, { startAt: new Date(begin + 7_200_000) })
      const written = await engine.start(flow, { startAt: new Date(begin + 10_800_000).toISOString() })
      await engine.settle()
      expect(await delayed.status()).toBe("queued")
      await engine.skip("59m")
      await engine.crash()
      expect(await engine.count({}, "status")).toEqual({ queued: 3 })
      await engine.skip("1m")
      expect(await delayed.result()).toBe(begin + 3_600_000)
      await engine.skip("2h")
      expect(await dated.result()).toBe(begin + 7_200_000)
      expect(await written.result()).toBe(begin + 10_800_000)
    })

    it("at a time that is past begins at once", async () => {
      const engine = await open({ workflows: [echo] })
      const handle = await engine.start(echo, { startAt: new Date(0), input: 1 })
      await engine.settle()
      expect(await handle.result()).toBe(1)
    })

    it("an event to a delayed instance waits for it", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", delay: "1h" })
      await engine.sendEvent("i", "word", "early")
      await engine.skip("30m")
      expect(await handle.status()).toBe("queued")
      await engine.skip("30m")
      expect(await handle.result()).toBe("early")
    })

    it("the timeout of a delayed instance counts from when it begins", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { delay: "1h", timeout: "1h" })
      await engine.skip("119m")
      expect(await handle.status()).toBe("waiting")
      await engine.skip("1m")
      expect(await handle.status()).toBe("failed")
    })

    it("a batch answers each item on its own", async () => {
      const engine = await open({ workflows: [echo] })
      await engine.start(echo, { id: "taken" })
      const answers = await engine.startBatch([
        { workflow: echo, id: "a", input: 1 },
        { workflow: echo, id: "taken" },
        { workflow: "nothing", id: "b" },
        { workflow: "echo", id: "c", input: 3, tags: ["x"] },
        { workflow: echo, id: "bad id" },
        { workflow: echo, id: "f", input: () => 1 },
      ])
      expect(answers.map((answer) => (answer.created ? answer.id : `${answer.id}: ${answer.error.code}`))).toEqual([
        "a",
        "taken: ID_EXISTS",
        "b: UNKNOWN_WORKFLOW",
        "c",
        "bad id: BAD_ID",
        "f: UNSERIALIZABLE",
      ])
      expect(await engine.get("a").result()).toBe(1)
      expect(await engine.get("c").result()).toBe(3)
    })

    it("a schema that breaks fails its own item of a batch, and no other", async () => {
      const breaks = () => {
        throw new TypeError("the schema is broken")
      }
      const strict = workflow("strict", { input: { "~standard": { version: 1, vendor: "test", validate: breaks } } }, async () => 1)
      const engine = await open({ workflows: [echo, strict] })
      const answers = await engine.startBatch([
        { workflow: strict, id: "a" },
        { workflow: echo, id: "b", input: 2 },
      ])
      expect(answers).toMatchObject([
        { id: "a", created: false, error: { code: "INTERNAL_ERROR", message: expect.stringContaining("the schema is broken") as string } },
        { id: "b", created: true },
      ])
      expect(await engine.get("b").result()).toBe(2)
    })

    it("a large batch is started, and all of it completes", async () => {
      const engine = await open({ workflows: [echo] })
      const answers = await engine.startBatch(Array.from({ length: 1_000 }, (_, i) => ({ workflow: echo, id: `i${i}`, input: i })))
      expect(answers.every(({ created }) => created)).toBe(true)
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 1_000 })
    })

    it("result() gives up after its timeout, and the instance goes on", async () => {
      const flow = workflow("flow", (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      const result = handle.result({ timeout: "1m" }).catch((error: unknown) => error)
      await engine.skip("1m")
      expect(await result).toMatchObject({ name: "ResultTimeoutError", code: "RESULT_TIMEOUT" })
      const patient = handle.result({ timeout: "1h" })
      await engine.sendEvent("i", "word", 1)
      expect(await patient).toBe(1)
      await expect(engine.get("nobody").result()).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("records how long the ended instance is kept: as the start says, else as the workflow says; a restart and the next run keep it", async () => {
      const kept = workflow("kept", { retention: { completed: "7d" } }, async (ctx: Context, again: boolean) => (again ? ctx.continueAsNew(false) : "done"))
      const engine = await open({ workflows: [kept, echo] })
      const day = 86_400_000
      const handle = await engine.start(kept, { id: "a", input: true })
      await handle.result()
      expect((await handle.describe()).retention).toEqual({ completed: 7 * day })
      await handle.restart()
      await handle.result()
      expect((await handle.describe()).retention).toEqual({ completed: 7 * day })
      const own = await engine.start(kept, { id: "b", input: false, retention: { completed: "1h", failed: "2d" } })
      expect((await own.describe()).retention).toEqual({ completed: 3_600_000, failed: 2 * day })
      expect((await (await engine.start(echo)).describe()).retention).toBeUndefined()
      await expect(engine.start(echo, { retention: { completed: "soon" as "1s" } })).rejects.toMatchObject({ code: "BAD_DURATION" })
      await expect(engine.start(echo, { retention: { ended: "1s" } as never })).rejects.toMatchObject({ code: "BAD_OPTION" })
    })
  })
}
