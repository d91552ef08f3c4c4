import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { TestEngine } from "../../test-engine.ts"
import { allMoments, crashAtEveryWrite } from "../crash-at-every-write.ts"
import { noticed, openWithClient } from "../other-process.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

const double = workflow("double", async (ctx, input: number) => ctx.do("work", () => input * 2))
const patient = workflow("patient", async (ctx: Context) => ctx.waitForEvent("word"))

/** A start whose answer may be lost: the caller starts again if it gets no answer. */
async function started(engine: TestEngine, workflowName: string, id: string): Promise<void> {
  for (let tries = 0; tries < 3; tries++) {
    const start = engine.start(workflowName, { id, ifExists: "return" }).catch(() => undefined)
    await Promise.race([start, engine.skip("10s")])
    if ((await engine.list({ idPrefix: id })).instances.length > 0) return
  }
}

export function childRecoveryStories(open: OpenBed): void {
  describe("children and crashes", () => {
    it("whatever write goes wrong, each child is started once and each result arrives", async () => {
      const child = workflow("child", async (ctx: Context, input: number) => {
        const doubled = await ctx.do("work", () => input * 2)
        const word = await ctx.waitForEvent("word")
        return [doubled, word]
      })
      const parent = workflow("parent", async (ctx) => {
        const first = await ctx.startChild(child, { id: "first", input: 1 })
        await first.sendEvent("word", "hello")
        const second = await ctx.startChild(patient, { id: "second" })
        const results: unknown[] = [await first.result()]
        await second.cancel("enough")
        results.push(await second.result().catch((error: unknown) => [(error as { cause: { code: string } }).cause.code]))
        return results
      })
      const writes = await crashAtEveryWrite(async (doom) => {
        const engine = await open({ workflows: [parent, child, patient] })
        doom.arm(engine)
        await started(engine, "parent", "p")
        await engine.skip("5m")
        expect(await engine.get("p").result()).toEqual([[2, "hello"], ["CANCELLED"]])
        expect(await engine.count({}, "workflow")).toEqual({ parent: 1, child: 1, patient: 1 })
        const types = [await entriesSeen(engine.get("p")), await entriesSeen(engine.get("first")), await entriesSeen(engine.get("second"))]
        const count = (entries: readonly string[] | undefined, type: string) => entries?.filter((one) => one === type).length
        expect([count(types[0], "child.ended"), count(types[1], "run.started"), count(types[1], "event.received")]).toEqual([2, 1, 1])
        expect([count(types[2], "run.started"), count(types[2], "cancel.requested")]).toEqual([1, 1])
        await engine.close()
      }, allMoments)
      expect(writes).toBeGreaterThan(6)
    }, 60_000)

    it("whatever write goes wrong, a parent's end reaches all of its children", async () => {
      const parent = workflow("parent", async (ctx) => {
        await Promise.all([ctx.startChild(patient, { id: "a", onParentEnd: "cancel" }), ctx.startChild(patient, { id: "b", onParentEnd: "terminate" })])
        await ctx.do("last", () => 1)
      })
      await crashAtEveryWrite(async (doom) => {
        const engine = await open({ workflows: [parent, patient] })
        doom.arm(engine)
        await started(engine, "parent", "p")
        await engine.skip("5m")
        expect(await engine.get("p").status()).toBe("completed")
        expect([await engine.get("a").status(), await engine.get("b").status()]).toEqual(["cancelled", "terminated"])
        await engine.close()
      }, allMoments)
    }, 60_000)

    it("a paused parent receives a child's result when it is resumed, and starts no child before", async () => {
      const parent = workflow("parent", async (ctx) => {
        const result = await ctx.runChild(patient, { id: "c" })
        return [result, await ctx.runChild(double, { input: 1 })]
      })
      const engine = await open({ workflows: [parent, patient, double] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      await engine.sendEvent("c", "word", "while paused")
      await engine.crash()
      await engine.skip("1d")
      expect(await handle.status()).toBe("paused")
      expect(await entriesSeen(handle)).not.toContain("child.ended")
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toEqual(["while paused", 2])
    })

    it("a stalled parent receives a child's result when it goes on", async () => {
      const parent = workflow("parent", async (ctx) => {
        await ctx.do("a", () => 1)
        return ctx.runChild(patient, { id: "c" })
      })
      const engine = await open({ workflows: [parent, patient] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      await engine.crash({ workflows: [workflow("parent", async (ctx) => ctx.sleep("a", "1m")), patient] })
      await handle.sendEvent("wake")
      await engine.skip("10s")
      expect(await handle.status()).toBe("stalled")
      await engine.sendEvent("c", "word", "meanwhile")
      await engine.crash({ workflows: [parent, patient] })
      expect(await handle.status()).toBe("stalled")
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toBe("meanwhile")
    })

    it("many parents and children need only a few resident instances", async () => {
      const parent = workflow("parent", async (ctx, input: number) => {
        const children = await Promise.all(Array.from({ length: 4 }, () => ctx.startChild(double, { input })))
        const results = await Promise.all(children.map((child) => child.result()))
        return results.reduce((sum, value) => sum + value, 0)
      })
      const engine = await open({ workflows: [parent, double], maxResidentInstances: 2 })
      for (let i = 0; i < 5; i++) await engine.start(parent, { id: `p${i}`, input: i })
      await engine.settle()
      for (let i = 0; i < 5; i++) expect(await engine.get(`p${i}`).result()).toBe(8 * i)
      expect(engine.current.components.worker.residents.size).toBeLessThanOrEqual(2)
    })

    it("a parent that waits is evicted without loss", async () => {
      const parent = workflow("parent", (ctx) => ctx.runChild(patient, { id: "c" }))
      const engine = await open({ workflows: [parent, patient] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.evict("p")
      await engine.evict("c")
      expect(engine.current.components.worker.residents.size).toBe(0)
      await engine.sendEvent("c", "word", "still there")
      expect(await handle.result()).toBe("still there")
    })

    it("a parent that sleeps for long beside a child wakes in time", async () => {
      const parent = workflow("parent", async (ctx) => {
        const child = await ctx.startChild(patient, { id: "c" })
        return Promise.race([child.result(), ctx.sleep("patience", "7d").then(() => "gave up")])
      })
      const engine = await open({ workflows: [parent, patient] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.evict("p")
      await engine.skip("7d")
      expect(await handle.result()).toBe("gave up")
      expect(await engine.get("c").status()).toBe("cancelled")
    })

    it("closing the engine while a child is being started loses neither", async () => {
      const parent = workflow("parent", (ctx) => ctx.runChild(double, { input: 4 }))
      const { engine, client } = await openWithClient(open, { workflows: [parent, double] }, [])
      void engine.start(parent, { id: "p" }).catch(() => undefined)
      await new Promise<void>((resolve) => engine.host.quiesce(resolve))
      await engine.close()
      await engine.open()
      await engine.skip("1m")
      expect(await engine.get("p").result()).toBe(8)
      await client.close()
    })

    it("clients in another process start parents, send to children, and get results", async () => {
      const parent = workflow("parent", (ctx) => ctx.runChild(patient, { id: `${ctx.instance.id}-child` }))
      const { engine, client } = await openWithClient(open, { workflows: [parent, patient] }, [parent])
      await client.start(parent, { id: "p" })
      await noticed(engine)
      await client.get("p-child").sendEvent("word", "from afar")
      await noticed(engine)
      await engine.skip("2s")
      expect(await client.get("p").result()).toBe("from afar")
      await client.start(parent, { id: "q" })
      await noticed(engine)
      await client.get("q").terminate("by a client")
      await noticed(engine)
      expect(await engine.get("q-child").status()).toBe("cancelled")
      await client.close()
    })
  })

  describe("what a parent does to a child", () => {
    it("is a step: done once, also across crashes, in the order of the calls", async () => {
      const listener = workflow("listener", async (ctx: Context) => [await ctx.waitForEvent("a"), await ctx.waitForEvent("b"), await ctx.waitForEvent("a")])
      const parent = workflow("parent", { duplicateSteps: "error" }, async (ctx) => {
        const child = await ctx.startChild(listener, { id: "c" })
        await child.sendEvent("a", 1)
        await child.sendEvent("b", { two: new Date(2) })
        await ctx.waitForEvent("go")
        await child.sendEvent("a", 3)
        return child.result()
      })
      const engine = await open({ workflows: [parent, listener] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("p", "go")
      expect(await handle.result()).toEqual([1, { two: new Date(2) }, 3])
      expect(await stepsSeen(handle)).toEqual(["c completed", "c a completed", "c b completed", "go completed", "c a#2 completed"])
    })

    it("an event that a child received is not sent again after a crash: not to one that is over, nor to its next run", async () => {
      const looping = workflow("looping", async (ctx: Context, input: number): Promise<unknown> => {
        const word = await ctx.waitForEvent("word")
        return input > 0 ? ctx.continueAsNew(0) : word
      })
      const parent = workflow("parent", async (ctx) => {
        const [over, next] = [await ctx.startChild(looping, { id: "over", input: 0 }), await ctx.startChild(looping, { id: "next", input: 1 })]
        await Promise.all([over.sendEvent("word", "once"), next.sendEvent("word", "once")])
        await next.sendEvent("word", "twice")
        return [await over.result(), await next.result()]
      })
      const sent: string[] = []
      const engine = await open({
        workflows: [parent, looping],
        interceptors: [
          // The event is sent, and the process dies before it gets the answer.
          async ({ id, attempt }, next) => {
            const answer = await next()
            if (id.endsWith("word")) sent.push(`${id}, attempt ${attempt}`)
            return id.endsWith("word") && attempt === 1 ? new Promise<never>(() => undefined) : answer
          },
        ],
      })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await engine.get("over").status()).toBe("completed")
      // The two messages are sent concurrently.
      expect(sent.splice(0).toSorted()).toEqual(["next word, attempt 1", "over word, attempt 1"])
      await engine.crash()
      expect(await handle.result()).toEqual(["once", "twice"])
      expect(sent.toSorted()).toEqual(["next word, attempt 2", "over word, attempt 2"])
    })

    it("fails at once where it cannot work, with an error that can be caught", async () => {
      const strict = workflow(
        "strict",
        { events: { word: { "~standard": { version: 1 as const, vendor: "test", validate: () => ({ issues: [{ message: "is not a word" }] }) } } } },
        async (ctx) => ctx.waitForEvent("word"),
      )
      const codes: unknown[] = []
      const parent = workflow("parent", async (ctx) => {
        const over = await ctx.startChild(double, { id: "over", input: 1 })
        const open = await ctx.startChild(strict, { id: "open" })
        await over.result()
        const attempt = (call: Promise<unknown>) => call.catch((error: unknown) => codes.push((error as { code: string }).code))
        await attempt(over.sendEvent("word", 1))
        await attempt(open.sendEvent("word", 1))
        await attempt(open.sendEvent("word", () => 1))
        await attempt(open.sendEvent("" as "word"))
        await over.cancel("too late")
      })
      const engine = await open({ workflows: [parent, double, strict] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      await handle.result()
      expect(codes).toEqual(["INSTANCE_ENDED", "INVALID_EVENT", "UNSERIALIZABLE", "BAD_NAME"])
    })

    it("works with ids and types as long as they may be", async () => {
      const [id, type] = ["c".repeat(256), "t".repeat(100)]
      const listener = workflow("listener", async (ctx: Context) => ctx.waitForEvent("long", { type }))
      const parent = workflow("parent", async (ctx) => {
        const child = await ctx.startChild(listener, { id })
        await child.sendEvent(type, "heard")
        return child.result()
      })
      const engine = await open({ workflows: [parent, listener] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await handle.result()).toBe("heard")
    })

    it("a cancel is what its result rejects with", async () => {
      const parent = workflow("parent", async (ctx) => {
        const child = await ctx.startChild(patient, { id: "c" })
        await child.cancel("not needed")
        return child.result().catch((error: unknown) => (error as { cause: { code: string; details: unknown } }).cause.details)
      })
      const engine = await open({ workflows: [parent, patient] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await handle.result()).toEqual({ instance: "c", reason: "not needed" })
    })
  })

  describe("a thousand children", () => {
    const fan = workflow("fan", async (ctx: Context, input: number) => {
      const children = Array.from({ length: input }, (_, index) => ctx.runChild(double, { id: `${ctx.instance.id}-${index}`, input: index }))
      const results = await Promise.all(children)
      return results.reduce((sum, value) => sum + value, 0)
    })

    it("are started and joined in some tens of transactions, and crashes in between lose none", async () => {
      const engine = await open({ workflows: [fan, double] })
      const handle = await engine.start(fan, { id: "p", input: 1_000 })
      await engine.settle()
      expect(await handle.result()).toBe(999_000)
      expect(engine.current.components.worker.committer.commits).toBeLessThan(40)
      const again = await engine.start(fan, { id: "q", input: 300 })
      await engine.crash()
      await engine.crash()
      expect(await again.result()).toBe(89_700)
      expect(await engine.count({ workflow: "double" }, "status")).toEqual({ completed: 1_300 })
    }, 120_000)
  })
}
