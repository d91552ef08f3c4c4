import { describe, expect, it } from "vitest"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Engine } from "../../../engine/engine.ts"
import type { EngineOptions } from "../../../engine/settings.ts"
import type { TestEngine } from "../../test-engine.ts"
import type { BedOptions, OpenBed } from "../scenario-bed.ts"

export function queueStories(open: OpenBed): void {
  const echo = workflow("echo", async (ctx, input: string) => ctx.do("say", () => input))
  const render = workflow("render", { taskQueue: "gpu" }, async (ctx) => ctx.do("draw", () => "drawn"))

  /** The engine dies, and another engine opens that serves other queues. */
  const openTwice = async (options: BedOptions, then: EngineOptions) => {
    const engine = await open(options)
    const takeOver = async (use: (other: Engine) => Promise<void>) => {
      await engine.settle()
      const { worker, store } = engine.current.components
      await store.journal.renew(worker.workerName, 0)
      await engine.close()
      const other = await Engine.open({ host: engine.host, store: engine.sharedStore, workflows: options.workflows, options: then })
      try {
        await use(other)
      } finally {
        const closing = other.close()
        await closing
      }
    }
    return { engine, takeOver }
  }
  const waiting = workflow("waiting", async (ctx) => ctx.waitForEvent("word"))
  const queuesOf = async (engine: TestEngine) => (await engine.list({ order: "oldest" })).instances.map(({ id, queue }) => `${id} ${queue}`)

  describe("task queues", () => {
    it("an engine that names no queues serves all, and each instance says which is its own", async () => {
      const engine = await open({ workflows: [echo, render] })
      const handles = [
        await engine.start(echo, { id: "a", input: "hi" }),
        await engine.start(echo, { id: "b", input: "hi", taskQueue: "mail" }),
        await engine.start(render, { id: "c" }),
        await engine.start(render, { id: "d", taskQueue: "default" }),
        await engine.start(echo, { id: "e", input: "later", taskQueue: "mail", delay: "1h" }),
      ]
      await engine.skip("2h")
      for (const handle of handles) expect(await handle.status()).toBe("completed")
      expect(await queuesOf(engine)).toEqual(["a default", "b mail", "c gpu", "d default", "e mail"])
      expect((await engine.get("b").describe()).queue).toBe("mail")
    })

    it("an engine that names queues leaves the others alone, and why says so", async () => {
      const engine = await open({ workflows: [echo, render], taskQueues: ["default", "mail"] })
      const here = await engine.start(echo, { id: "here", input: "hi", taskQueue: "mail" })
      const elsewhere = await engine.start(render, { id: "elsewhere" })
      await engine.skip("1h")
      expect(await here.result()).toBe("hi")
      expect(await elsewhere.status()).toBe("queued")
      expect((await elsewhere.why()).because).toEqual(['no worker here serves its task queue "gpu" (only "default", "mail"); start one that does'])
      expect((await elsewhere.describe()).steps).toEqual([])
      await elsewhere.terminate()
    })

    it("an engine that names queues leaves alone what sendOrStart and batches start in others", async () => {
      const engine = await open({ workflows: [waiting, echo], taskQueues: ["default"] })
      await engine.sendOrStart(waiting, { id: "a", event: "word", payload: 1, taskQueue: "mail" })
      await engine.startBatch([{ workflow: echo, id: "b", input: "hi", taskQueue: "mail" }])
      await engine.skip("1h")
      expect(await engine.count({ queue: "mail" }, "status")).toEqual({ queued: 2 })
    })

    it("a worker that serves the queue runs the instances that other workers leave", async () => {
      const slow = workflow("slow", async (ctx) => {
        await ctx.sleep("nap", "1h")
        return ctx.do("say", () => "done")
      })
      const { engine, takeOver } = await openTwice({ workflows: [slow] }, { taskQueues: ["gpu"], lease: "52w", sweep: "52w" })
      await engine.start(slow, { id: "plain" })
      await engine.start(slow, { id: "gpu", taskQueue: "gpu" })
      await takeOver(async (other) => {
        await engine.host.advanceTo(engine.host.now() + 2 * 3_600_000, async () => {
          for (let quiet = 0; quiet < 20; quiet = other.components.worker.idle ? quiet + 1 : 0)
            await new Promise<void>((resolve) => engine.host.quiesce(resolve))
        })
        expect(await other.get("gpu").result()).toBe("done")
        expect(await other.get("plain").status()).toBe("sleeping")
      })
    })

    it("lists and counts keep to a queue", async () => {
      const engine = await open({ workflows: [echo, render] })
      for (const id of ["a", "b"]) await (await engine.start(render, { id })).result()
      await (await engine.start(echo, { id: "c", input: "hi" })).result()
      await engine.settle()
      expect((await engine.list({ queue: "gpu", order: "oldest" })).instances.map(({ id }) => id)).toEqual(["a", "b"])
      expect((await engine.list({ queue: "default" })).instances.map(({ id }) => id)).toEqual(["c"])
      expect(await engine.count({ queue: "gpu" }, "status")).toEqual({ completed: 2 })
    })

    it("a child is in the queue of its parent, unless it, or its workflow, says otherwise", async () => {
      const parent = workflow("parent", async (ctx) => {
        await ctx.runChild(echo, { id: "inherits", input: "hi" })
        await ctx.runChild(echo, { id: "told", input: "hi", taskQueue: "default" })
        await ctx.runChild(render, { id: "its-own" })
      })
      const engine = await open({ workflows: [parent, echo, render] })
      await (await engine.start(parent, { id: "parent", taskQueue: "mail" })).result()
      expect(await queuesOf(engine)).toEqual(["parent mail", "inherits mail", "told default", "its-own gpu"])
    })

    it("the next run, a restart and a fork stay in the queue, and a schedule may name one", async () => {
      const loop = workflow("loop", async (ctx, round: number): Promise<number> => (round < 3 ? ctx.continueAsNew(round + 1) : ctx.do("end", () => round)))
      const engine = await open({ workflows: [loop, render] })
      const handle = await engine.start(loop, { id: "i", input: 1, taskQueue: "mail" })
      await engine.skipToEnd("i")
      await handle.restart()
      await handle.fork({ id: "j" })
      await engine.settle()
      expect(await queuesOf(engine)).toEqual(["i mail", "j mail"])
      const schedule = await engine.schedules.create("s", { workflow: loop, input: 3, every: "1h", taskQueue: "nightly" })
      expect((await schedule.describe()).taskQueue).toBe("nightly")
      await engine.skip("1h")
      await schedule.update({ taskQueue: null })
      await engine.skip("1h")
      expect(await schedule.describe()).not.toHaveProperty("taskQueue")
      expect((await queuesOf(engine)).slice(2).map((line) => line.split(" ")[1])).toEqual(["nightly", "default"])
    })

    it("sendOrStart and batches name a queue as start does", async () => {
      const engine = await open({ workflows: [waiting, echo] })
      await engine.sendOrStart(waiting, { id: "a", event: "word", payload: 1, taskQueue: "mail" })
      await engine.startBatch([{ workflow: echo, id: "b", input: "hi", taskQueue: "mail" }])
      await engine.skip("1h")
      expect(await queuesOf(engine)).toEqual(["a mail", "b mail"])
    })

    it("an engine that names none, or what is no name, is refused", async () => {
      await expect(open({ workflows: [], taskQueues: [] })).rejects.toMatchObject({ code: "BAD_OPTION" })
      await expect(open({ workflows: [], taskQueues: [""] })).rejects.toMatchObject({ code: "BAD_NAME" })
    })

    it("invalid queue names are refused, wherever they are given", async () => {
      expect(() => workflow("w", { taskQueue: "a b" }, async () => 1)).toThrow(expect.objectContaining({ code: "BAD_NAME" }))
      const engine = await open({ workflows: [echo] })
      await expect(engine.start(echo, { input: "hi", taskQueue: "" })).rejects.toMatchObject({ code: "BAD_NAME" })
      await expect(engine.start(echo, { input: "hi", taskQueue: 5 as never })).rejects.toMatchObject({ code: "BAD_NAME" })
      await expect(engine.schedules.create("s", { workflow: echo, input: "hi", every: "1h", taskQueue: "a/b" })).rejects.toMatchObject({ code: "BAD_NAME" })
    })
  })
}
