import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { Handle, HistoryEntry } from "../../../client-api/client-api.ts"
import type { OpenBed } from "../scenario-bed.ts"

export function queryStories(open: OpenBed): void {
  const order = workflow("order", async (ctx: Context, input: string) => {
    if (input === "wait") await ctx.waitForEvent("word")
    if (input === "sleep") await ctx.sleep("nap", "1d")
    if (input === "fail") throw new Error("no")
    return input
  })
  const refund = workflow("refund", { version: "2" }, async (ctx) => ctx.waitForEvent("word"))

  /** Ten orders and two refunds, a minute apart. */
  const populated = async () => {
    const engine = await open({ workflows: [order, refund] })
    const startedAt = engine.now()
    const inputs = ["wait", "sleep", "fail", "done", "done", "wait", "wait", "done", "sleep", "done"]
    for (const [i, input] of inputs.entries()) {
      await engine.start(order, { id: `order-${i}`, input, tags: i % 2 === 0 ? ["even", "all"] : ["all"] })
      await engine.skip("1m")
    }
    for (const id of ["refund-0", "refund-1"]) {
      await engine.start(refund, { id })
      await engine.skip("1m")
    }
    return { engine, startedAt }
  }

  const paged = async (handle: Pick<Handle, "history">, options: { run?: number; limit: number }) => {
    const entries: HistoryEntry[] = []
    let cursor: string | undefined
    do {
      const page = await handle.history({ ...options, ...(cursor === undefined ? undefined : { cursor }) })
      expect(page.entries.length).toBeLessThanOrEqual(options.limit)
      entries.push(...page.entries)
      cursor = page.cursor
    } while (cursor !== undefined && entries.length < 1_000)
    return entries
  }

  describe("list and count", () => {
    it("newest first, or oldest first, page by page", async () => {
      const { engine } = await populated()
      const ids = [...Array.from({ length: 10 }, (_, i) => `order-${i}`), "refund-0", "refund-1"]
      for (const order of ["newest", "oldest"] as const) {
        const seen: string[] = []
        let cursor: string | undefined
        do {
          const page = await engine.list({ limit: 5, order, ...(cursor === undefined ? undefined : { cursor }) })
          expect(page.instances.length).toBeLessThanOrEqual(5)
          seen.push(...page.instances.map(({ id }) => id))
          cursor = page.cursor
        } while (cursor !== undefined)
        expect(seen).toEqual(order === "oldest" ? ids : ids.toReversed())
      }
      expect((await engine.list()).instances[0]?.id).toBe("refund-1")
    })

    it("by workflow, version, status, tag, time and the beginning of the id", async () => {
      const { engine, startedAt } = await populated()
      const listed = async (filter: Parameters<typeof engine.list>[0]) =>
        (await engine.list({ order: "oldest", ...filter })).instances.map(({ id }) => id.replace("order-", ""))
      expect(await listed({ workflow: "refund" })).toEqual(["refund-0", "refund-1"])
      expect(await listed({ version: "2" })).toEqual(["refund-0", "refund-1"])
      expect(await listed({ status: "sleeping" })).toEqual(["1", "8"])
      expect(await listed({ status: ["failed", "sleeping"] })).toEqual(["1", "2", "8"])
      expect(await listed({ tag: "even", status: "waiting" })).toEqual(["0", "6"])
      expect(await listed({ tag: "none" })).toEqual([])
      expect(await listed({ since: startedAt + 8 * 60_000, workflow: "order" })).toEqual(["8", "9"])
      expect(await listed({ until: new Date(startedAt + 60_000) })).toEqual(["0"])
      expect(await listed({ idPrefix: "ref" })).toEqual(["refund-0", "refund-1"])
      expect(await engine.count({}, "status")).toEqual({ completed: 4, failed: 1, sleeping: 2, waiting: 5 })
      expect(await engine.count({ status: "waiting" }, "workflow")).toEqual({ order: 3, refund: 2 })
    })

    it("a page says what an instance is, without its payloads", async () => {
      const { engine, startedAt } = await populated()
      const { instances } = await engine.list({ idPrefix: "order-0" })
      expect(instances).toEqual([
        {
          id: "order-0",
          workflow: "order",
          version: "1",
          run: 1,
          status: "waiting",
          queue: "default",
          tags: ["even", "all"],
          createdAt: startedAt,
          updatedAt: startedAt,
        },
      ])
    })

    it("invalid filters are refused", async () => {
      const { engine } = await populated()
      for (const filter of [{ limit: 0 }, { limit: 1.5 }, { limit: 100_000 }, { cursor: "nonsense" }, { status: "happy" as "failed" }, { since: "yesterday" }])
        await expect(engine.list(filter)).rejects.toMatchObject({ code: "BAD_OPTION" })
    })
  })

  describe("describe, steps and history", () => {
    it("describe has everything in one object", async () => {
      const flow = workflow("flow", async (ctx: Context, input: { n: number }) => {
        await ctx.do("add", () => input.n + 1)
        return ctx.do("boom", () => Promise.reject(new Error("no")), { retry: { maxAttempts: 1 } })
      })
      const engine = await open({ workflows: [flow] })
      const startedAt = engine.now()
      await engine.start(flow, { id: "i", input: { n: 1 }, tags: ["t"] })
      await engine.settle()
      expect(await engine.get("i").describe()).toMatchObject({
        id: "i",
        workflow: "flow",
        version: "1",
        run: 1,
        status: "failed",
        input: { n: 1 },
        error: { code: "STEP_FAILED", cause: { message: "no" } },
        tags: ["t"],
        createdAt: startedAt,
        steps: [
          { id: "add", name: "add", type: "do", status: "completed", attempts: 1, result: 2, startedAt, completedAt: startedAt },
          { id: "boom", status: "failed", error: { message: "no" } },
        ],
      })
      await expect(engine.get("nobody").describe()).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("history comes in pages, and by run", async () => {
      const flow = workflow("flow", async (ctx) => {
        for (let i = 0; i < 5; i++) await ctx.do("step", () => i)
        return "done"
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await handle.result()
      await handle.restart({ from: "step#4" })
      await engine.settle()
      const all = (await handle.history()).entries
      expect(await paged(handle, { limit: 4 })).toEqual(all)
      const values = async (run: number) =>
        (await handle.history({ run })).entries.filter(({ type }) => type === "step.completed").map(({ data }) => [data["id"], data["value"]])
      const results = [
        ["step", 0],
        ["step#2", 1],
        ["step#3", 2],
        ["step#4", 3],
        ["step#5", 4],
      ]
      expect(await values(1)).toEqual(results)
      expect(await values(2)).toEqual(results)
      expect((await handle.history({ run: 3 })).entries).toEqual([])
      await expect(handle.history({ cursor: "nonsense" })).rejects.toMatchObject({ code: "BAD_OPTION" })
      await expect(engine.get("nobody").history()).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("the pages of one run make up that run, also where it keeps stretches of others", async () => {
      const flow = workflow("flow", async (ctx) => {
        for (const name of ["a", "b", "c", "d"]) await ctx.do(name, () => name)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await handle.result()
      for (const from of ["c", "d"]) {
        await handle.restart({ from })
        await engine.settle()
      }
      const whole = (await handle.history({ run: 3 })).entries
      for (const limit of [1, 3, 100]) expect(await paged(handle, { run: 3, limit })).toEqual(whole)
    })
  })

  describe("delete", () => {
    it("removes an ended instance for good, and its id is free again", async () => {
      const { engine } = await populated()
      await engine.get("order-3").delete()
      await expect(engine.get("order-3").describe()).rejects.toMatchObject({ code: "NOT_FOUND" })
      await expect(engine.get("order-3").delete()).rejects.toMatchObject({ code: "NOT_FOUND" })
      expect(await engine.count({}, "status")).toMatchObject({ completed: 3 })
      expect(await (await engine.start(order, { id: "order-3", input: "another" })).result()).toBe("another")
    })

    it("of an instance that is not over is refused", async () => {
      const { engine } = await populated()
      await expect(engine.get("order-0").delete()).rejects.toMatchObject({ code: "NOT_ENDED", details: { status: "waiting" } })
      expect(await engine.get("order-0").status()).toBe("waiting")
    })
  })
}
