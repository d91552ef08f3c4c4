import { describe, expect, it } from "vitest"
import type { PerdureError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { openWithClient } from "../other-process.ts"
import { entriesSeen, type OpenBed } from "../scenario-bed.ts"

export function annotationStories(open: OpenBed): void {
  describe("memo", () => {
    it("what the code notes is in describe and in lists, also while the instance waits, and after it has ended", async () => {
      const flow = workflow("flow", async (ctx) => {
        ctx.setMemo("stage", "packing")
        await ctx.do("pack", () => 1)
        ctx.setMemo({ stage: "shipping", parcels: new Map([["a", 2]]) })
        await ctx.waitForEvent("shipped")
        ctx.setMemo({ stage: "done", parcels: undefined })
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect((await handle.describe()).memo).toEqual({ stage: "shipping", parcels: new Map([["a", 2]]) })
      expect((await engine.list()).instances).toMatchObject([{ id: "i", memo: { stage: "shipping" } }])
      await engine.sendEvent("i", "shipped")
      await handle.result()
      await engine.settle()
      expect((await handle.describe()).memo).toEqual({ stage: "done" })
      expect(await engine.start(workflow("other", async () => 1)).then((other) => other.describe())).not.toHaveProperty("memo")
    })

    it("each change is one entry, and is recorded once, whatever becomes of the process", async () => {
      const flow = workflow("flow", async (ctx) => {
        for (let i = 1; i <= 3; i++) {
          ctx.setMemo("round", i)
          await ctx.do("work", () => i)
          await ctx.sleep("nap", "1m")
        }
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      for (let i = 0; i < 4; i++) {
        await engine.skip("30s")
        await engine.crash()
        await engine.skip("15s")
        await engine.evict("i")
      }
      await engine.skipToEnd("i")
      expect((await entriesSeen(handle)).filter((type) => type === "annotated")).toHaveLength(3)
      expect((await handle.describe()).memo).toEqual({ round: 3 })
    })

    it("a memo costs no turn of its own", async () => {
      const flow = (notes: boolean) =>
        workflow("flow", { version: String(notes) }, async (ctx) => {
          for (let i = 0; i < 5; i++) {
            if (notes) ctx.setMemo("i", i)
            await ctx.do("work", () => i)
          }
        })
      const turns = async (notes: boolean) => {
        const engine = await open({ workflows: [flow(notes)] })
        await (await engine.start(flow(notes).name, { id: "i" })).result()
        return (await engine.journal("i")).rows.length
      }
      expect(await turns(true)).toBe(await turns(false))
    })

    it("what the code does to a value later is not noted", async () => {
      const flow = workflow("flow", async (ctx) => {
        const list = [1]
        ctx.setMemo("list", list)
        list.push(2)
        ctx.setMemo("more", true)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await handle.result()
      await engine.settle()
      expect((await handle.describe()).memo).toEqual({ list: [1], more: true })
    })

    it("the next run of a loop goes on with the memo and the tags of the one before", async () => {
      const flow = workflow("flow", async (ctx, round: number) => {
        ctx.setMemo(`round ${round}`, true)
        ctx.tags.add(`round ${round}`)
        if (round < 3) await ctx.continueAsNew(round + 1)
        return [...ctx.tags]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: 1, tags: ["loop"] })
      await engine.skipToEnd("i")
      expect(await handle.result()).toEqual(["loop", "round 1", "round 2", "round 3"])
      expect((await handle.describe()).memo).toEqual({ "round 1": true, "round 2": true, "round 3": true })
      expect((await handle.describe()).tags).toEqual(["loop", "round 1", "round 2", "round 3"])
    })

    it("too large a memo, a key that is none, and values that cannot be stored are refused where they are set", async () => {
      const codes: unknown[] = []
      const flow = workflow("flow", async (ctx) => {
        const attempts: (() => void)[] = [
          () => ctx.setMemo("text", "x".repeat(5_000)),
          () => ctx.setMemo("", 1),
          () => ctx.setMemo("k".repeat(129), 1),
          () => ctx.setMemo("fn", () => 1),
          () => ctx.setMemo([1] as never),
          () => ctx.setMemo(undefined as never),
        ]
        for (const attempt of attempts) {
          try {
            attempt()
          } catch (error) {
            codes.push([(error as PerdureError).code, (error as PerdureError).details["limit"]])
          }
        }
        ctx.setMemo("fine", 1)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      await handle.result()
      await engine.settle()
      expect(codes).toEqual([
        ["PAYLOAD_TOO_LARGE", "memoBytesMax"],
        ["BAD_NAME", undefined],
        ["BAD_NAME", undefined],
        ["UNSERIALIZABLE", undefined],
        ["BAD_OPTION", undefined],
        ["BAD_OPTION", undefined],
      ])
      expect((await handle.describe()).memo).toEqual({ fine: 1 })
    })

    it("neither a step's function nor the handler of a query may note anything", async () => {
      const flow = workflow("flow", async (ctx) => {
        ctx.setQueryHandler("note", () => ctx.setMemo("a", 1))
        ctx.setQueryHandler("tag", () => ctx.tags.add("a"))
        ctx.setQueryHandler("tags", () => [...ctx.tags])
        await ctx.do("note", () => ctx.setMemo("a", 1), { retry: { maxAttempts: 1 } }).catch((error: PerdureError) => ctx.setMemo("refused", error.cause))
        await ctx.waitForEvent("end")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", tags: ["t"] })
      await engine.settle()
      expect((await handle.describe()).memo).toMatchObject({ refused: { code: "CTX_IN_STEP" } })
      await expect(handle.query("note")).rejects.toMatchObject({ code: "READ_ONLY_HANDLER" })
      await expect(handle.query("tag")).rejects.toMatchObject({ code: "READ_ONLY_HANDLER" })
      expect(await handle.query("tags")).toEqual(["t"])
    })
  })

  describe("tags that change", () => {
    it("an instance is found by those that it has now", async () => {
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("look", () => 1)
        ctx.tags.add("urgent", "eu")
        ctx.tags.delete("new")
        await ctx.waitForEvent("end")
        return { all: [...ctx.tags], size: ctx.tags.size, has: ctx.tags.has("urgent") }
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", tags: ["new", "shop"] })
      await engine.settle()
      const found = async (tag: string) => (await engine.list({ tag })).instances.map(({ id }) => id)
      expect([await found("new"), await found("shop"), await found("urgent")]).toEqual([[], ["i"], ["i"]])
      await engine.crash()
      await engine.sendEvent("i", "end")
      expect(await handle.result()).toEqual({ all: ["shop", "urgent", "eu"], size: 3, has: true })
      expect((await handle.describe()).tags).toEqual(["shop", "urgent", "eu"])
    })

    it("on replay the code sees them as they were, and what changes nothing is not recorded", async () => {
      const seen: unknown[] = []
      const flow = workflow("flow", async (ctx) => {
        const before = [...ctx.tags]
        ctx.tags.add("a")
        ctx.tags.delete("b")
        await ctx.do("one", () => 1)
        const between = [...ctx.tags]
        ctx.tags.delete("a", "start")
        await ctx.waitForEvent("go")
        seen.push([before, between, [...ctx.tags]])
        await ctx.waitForEvent("end")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", tags: ["start"] })
      await engine.sendEvent("i", "go")
      await engine.crash()
      await engine.evict("i")
      await engine.sendEvent("i", "end")
      await handle.result()
      expect(seen.length).toBeGreaterThan(1)
      for (const one of seen) expect(one).toEqual([["start"], ["start", "a"], []])
      expect((await entriesSeen(handle)).filter((type) => type === "annotated")).toHaveLength(2)
    })

    it("a restart, a restart from a step and a fork go on with what was noted until then", async () => {
      const flow = workflow("flow", async (ctx) => {
        ctx.tags.add("began")
        ctx.setMemo("stage", 1)
        await ctx.do("one", () => 1)
        ctx.tags.add("after one")
        ctx.setMemo("stage", 2)
        await ctx.do("two", () => 2)
        ctx.tags.add(`run ${ctx.instance.run} of ${ctx.instance.id}`)
        ctx.setMemo("ended", true)
        await ctx.waitForEvent("end")
      })
      const { engine, client } = await openWithClient(open, { workflows: [flow] }, [flow])
      const handle = await engine.start(flow, { id: "i", tags: ["t"] })
      await engine.settle()
      const view = async (id: string) => {
        const { tags, memo } = await client.get(id).describe()
        return { tags, memo }
      }
      const whole = (id: string, run: number) => ({ tags: ["t", "began", "after one", `run ${run} of ${id}`], memo: { stage: 2, ended: true } })
      expect(await view("i")).toEqual(whole("i", 1))
      await handle.pause()
      await engine.settle()
      // Without a worker, the row shows what the turn itself wrote.
      await engine.close()
      await client.get("i").fork({ id: "j", from: "two" })
      await client.get("i").restart({ from: "two" })
      expect(await view("i")).toEqual({ tags: ["t", "began", "after one"], memo: { stage: 2 } })
      await engine.open()
      await engine.settle()
      expect(await view("i")).toEqual(whole("i", 2))
      expect(await view("j")).toEqual(whole("j", 1))
      expect((await engine.list({ tag: "run 1 of i" })).instances).toEqual([])
      await engine.close()
      await client.get("i").restart()
      expect(await view("i")).toEqual({ tags: ["t"], memo: undefined })
      await engine.open()
      await engine.settle()
      expect(await view("i")).toEqual(whole("i", 3))
      await client.close()
    })

    it("too many, too long and empty ones are refused where they are added", async () => {
      const codes: string[] = []
      const flow = workflow("flow", async (ctx) => {
        const attempts = [() => ctx.tags.add(""), () => ctx.tags.add("x".repeat(129)), () => ctx.tags.add(...Array.from({ length: 33 }, (_, i) => String(i)))]
        for (const attempt of attempts) {
          try {
            attempt()
          } catch (error) {
            codes.push((error as PerdureError).code)
          }
        }
        return [...ctx.tags]
      })
      const engine = await open({ workflows: [flow] })
      expect(await (await engine.start(flow, { tags: ["t"] })).result()).toEqual(["t"])
      expect(codes).toEqual(["BAD_NAME", "BAD_NAME", "BAD_OPTION"])
    })
  })

  describe("the attempt of an instance", () => {
    it("counts crashes of its worker as far as the code has come, so that it is the same on replay", async () => {
      const seen: unknown[] = []
      const flow = workflow("flow", async (ctx) => {
        const attempts = [ctx.instance.attempt]
        await ctx.do("one", ({ attempt }) => (attempt === 1 ? new Promise(() => undefined) : 1))
        attempts.push(ctx.instance.attempt)
        await ctx.do("two", ({ attempt }) => (attempt === 1 ? new Promise(() => undefined) : 2))
        attempts.push(ctx.instance.attempt)
        seen.push([...attempts])
        await ctx.waitForEvent("end")
        return [...attempts, ctx.instance.attempt]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect((await handle.describe()).attempt).toBe(1)
      await engine.crash()
      await engine.crash()
      await engine.evict("i")
      await engine.sendEvent("i", "end")
      expect(await handle.result()).toEqual([1, 2, 3, 3])
      expect(seen.length).toBeGreaterThan(1)
      for (const one of seen) expect(one).toEqual([1, 2, 3])
      expect((await handle.describe()).attempt).toBe(3)
      await handle.restart()
      await engine.settle()
      expect((await handle.describe()).attempt).toBe(1)
    })
  })
}
