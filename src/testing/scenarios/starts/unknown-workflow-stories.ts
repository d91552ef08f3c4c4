import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { noticed, openWithClient } from "../other-process.ts"
import type { OpenBed } from "../scenario-bed.ts"

const order = workflow("order", async (ctx: Context) => ctx.do("work", () => ctx.instance.id))

/** Starts of unknown workflows are refused, so that a misspelt name does not wait for ever. */
export function unknownWorkflowStories(open: OpenBed): void {
  const unknown = { code: "UNKNOWN_WORKFLOW" }

  describe("a workflow that nobody knows", () => {
    it("is refused by its version; the refusal names the versions that are known, and the way out", async () => {
      const engine = await open({ workflows: [order] })
      const refused = engine.start("order", { id: "i", version: "9" })
      await expect(refused).rejects.toMatchObject({ ...unknown, details: { workflow: "order", version: "9", versions: ["1"] } })
      await expect(refused).rejects.toThrow(
        'no process knows version "9" of workflow "order": it is not registered here, no running worker offers it, and the store has no instance of it; known is version "1". ' +
          "Start a worker that has it first, or say allowUnknown: true to let the instance wait for one",
      )
      expect((await engine.list()).instances).toEqual([])
    })

    it("is refused by its name, with the nearest one that is known", async () => {
      const engine = await open({ workflows: [order] })
      await expect(engine.start("ordr", { version: "1" })).rejects.toMatchObject({ ...unknown, details: { nearest: "order" } })
      await expect(engine.start("ordr", { version: "1" })).rejects.toThrow('did you mean "order"? Start a worker')
      await expect(engine.start("ordr")).rejects.toThrow('it knows "order". Pass it to Perdure.open({ workflows: […] }); did you mean "order"?')
    })

    it("is refused in a batch, and by sendOrStart, which sends nothing then", async () => {
      const engine = await open({ workflows: [order] })
      const results = await engine.current.startBatch([
        { workflow: "order", id: "a" },
        { workflow: "order", id: "b", version: "9" },
        { workflow: "order", id: "c", version: "8", allowUnknown: true },
        { workflow: "other", id: "d", version: "1" },
      ])
      expect(results.map((one) => (one.created ? one.id : one.error.code))).toEqual(["a", "UNKNOWN_WORKFLOW", "c", "UNKNOWN_WORKFLOW"])
      const send = { id: "e", event: "go", payload: 1, input: undefined, version: "1" }
      await expect(engine.current.sendOrStart("other", send)).rejects.toMatchObject(unknown)
      expect((await engine.list()).instances.map(({ id }) => id).toSorted()).toEqual(["a", "c"])
      await engine.current.sendOrStart("other", { ...send, allowUnknown: true })
      expect(await engine.get("e").status()).toBe("queued")
    })

    it("may be started with allowUnknown, waits for a worker that has it, and is known from then on", async () => {
      const engine = await open({ workflows: [] })
      // Without a version, like a workflow without one.
      const first = await engine.start("order", { id: "a", allowUnknown: true })
      await engine.settle()
      expect(await first.status()).toBe("queued")
      const second = await engine.start("order", { id: "b" })
      await engine.crash({ workflows: [order] })
      expect([await first.result(), await second.result()]).toEqual(["a", "b"])
    })

    it("is known while a running worker offers it; without a version a client takes the one that is offered", async () => {
      const { engine, client } = await openWithClient(open, { workflows: [order] }, [])
      const handle = await client.start("order", { id: "a", version: "1" })
      await noticed(engine)
      expect(await handle.result()).toBe("a")
      const byName = await client.start("order", { id: "b" })
      await client.sendOrStart("order", { id: "c", event: "go", payload: 1, input: undefined })
      await noticed(engine)
      expect([await byName.result(), (await client.describe("c")).version]).toEqual(["b", "1"])
      await expect(client.start("order", { version: "2" })).rejects.toMatchObject({ ...unknown, details: { versions: ["1"] } })
      await client.close()
    })

    it("though a client has its code: why says that no running worker has it", async () => {
      const { client } = await openWithClient(open, { workflows: [workflow("other", async () => 1)] }, [order])
      const handle = await client.start(order, { id: "a" })
      expect(await handle.status()).toBe("queued")
      expect((await handle.why()).because[0]).toMatch(/no running worker serves version "1" of workflow "order" in task queue "default"; start one$/)
      await client.close()
    })

    it("is not known any more once its worker has gone, unless the store has an instance of it", async () => {
      const engine = await open({ workflows: [order] })
      await engine.crash({ workflows: [workflow("other", async () => 1)] })
      await engine.skip("5m")
      await expect(engine.start("order", { version: "1" })).rejects.toMatchObject(unknown)
    })
  })

  describe("a child that nobody serves", () => {
    it("is not refused, and why says that nobody serves it", async () => {
      const parent = workflow("parent", (ctx: Context) => ctx.runChild("render", { id: "child", version: "7", taskQueue: "gpu" }))
      const { engine, client } = await openWithClient(open, { workflows: [parent], taskQueues: ["default"] }, [])
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect([await handle.status(), await engine.get("child").status()]).toEqual(["waiting", "queued"])
      expect((await engine.get("child").why()).because[0]).toContain('no worker here serves its task queue "gpu"')
      expect((await client.get("child").why()).because[0]).toMatch(/no running worker serves version "7" of workflow "render" in task queue "gpu"; start one$/)
      await client.close()
    })

    it("is not refused on another queue by its name alone; on its parent's own queue a name that nobody knows is", async () => {
      const parent = workflow("parent", async (ctx: Context) => {
        const misspelt = await ctx.startChild("rendr", { id: "never" }).catch((error: unknown) => error)
        await ctx.startChild("render", { id: "child", taskQueue: "gpu", onParentEnd: "abandon" })
        return misspelt
      })
      const engine = await open({ workflows: [parent], taskQueues: ["default"] })
      const handle = await engine.start(parent, { id: "p" })
      expect(await handle.result()).toMatchObject(unknown)
      const { status, version, queue } = await engine.current.describe("child")
      expect({ status, version, queue }).toEqual({ status: "queued", version: "1", queue: "gpu" })
    })
  })
}
