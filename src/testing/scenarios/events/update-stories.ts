import { describe, expect, it } from "vitest"
import { decodeValue } from "../../../core/values/value-codec.ts"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { Store, StoreProvider } from "../../../ports/store.ts"
import { overriding } from "../../../engine/method-overrides.ts"
import type { TestEngine } from "../../test-engine.ts"
import { Gate } from "../gate.ts"
import { noticed, openWithClient } from "../other-process.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

/** A basket that is changed by updates until it is closed by an event. */
const basket = workflow("basket", async (ctx: Context) => {
  const items: unknown[] = []
  const validate = (item: string) => {
    if (item === "nothing") throw new RangeError("nothing is no item")
  }
  ctx.setUpdateHandler("add", { validate }, async (item: string) => {
    const price = await ctx.do("price", () => item.length)
    items.push(item)
    return { items: items.length, price }
  })
  ctx.setUpdateHandler("fail", () => Promise.reject(Object.assign(new RangeError("not today"), { left: 0 })))
  ctx.setUpdateHandler("hang", () => ctx.waitForEvent("never"))
  ctx.setUpdateHandler("function", () => () => 1)
  ctx.setQueryHandler("items", () => items)
  await ctx.waitForEvent("close")
  return items
})

const settled = async <T>(engine: TestEngine, promise: Promise<T>): Promise<T> => {
  promise.catch(() => undefined)
  await engine.settle()
  return promise
}

/** Records the first argument of each update in the order of delivery to the store. */
const notingDeliveries = (provider: StoreProvider, delivered: string[]): StoreProvider => ({
  name: provider.name,
  open: async (context) => {
    const store = await provider.open(context)
    const directory = overriding(store.directory, {
      deliver: (messages) => {
        for (const { kind, payload } of messages) if (kind === "update" && payload !== undefined) delivered.push((decodeValue(payload) as [string])[0])
        return store.directory.deliver(messages)
      },
    })
    return overriding<Store>(store, { directory })
  },
})

export function updateStories(open: OpenBed): void {
  describe("updates", () => {
    it("are accepted, done and answered, and a part of the workflow like any other", async () => {
      const engine = await open({ workflows: [basket] })
      const handle = await engine.start(basket, { id: "i" })
      await engine.settle()
      expect(await settled(engine, handle.update("add", "apple"))).toEqual({ items: 1, price: 5 })
      await engine.crash()
      expect(await settled(engine, handle.update("add", "pear"))).toEqual({ items: 2, price: 4 })
      expect(await entriesSeen(handle)).toEqual([
        "run.started",
        "wait.started",
        "update.accepted",
        "step.started",
        "step.completed",
        "update.completed",
        "update.accepted",
        "step.started",
        "step.completed",
        "update.completed",
      ])
      await engine.sendEvent("i", "close")
      expect(await handle.result()).toEqual(["apple", "pear"])
    })

    it("that validation refuses are never accepted, and their caller gets the reason", async () => {
      const engine = await open({ workflows: [basket] })
      const handle = await engine.start(basket, { id: "i" })
      await engine.settle()
      await expect(settled(engine, handle.update("add", "nothing"))).rejects.toMatchObject({ name: "RangeError", message: "nothing is no item" })
      await expect(settled(engine, handle.update("remove", "apple"))).rejects.toMatchObject({
        code: "UNKNOWN_UPDATE",
        details: { known: ["add", "fail", "hang", "function"] },
      })
      await engine.crash()
      expect(await handle.query("items")).toEqual([])
      expect(await entriesSeen(handle)).not.toContain("update.accepted")
      expect(await handle.status()).toBe("waiting")
    })

    it("a validation may only read, and decides at once", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        const done: string[] = []
        const set = (name: string, validate: () => unknown) => ctx.setUpdateHandler(name, { validate }, () => done.push(name))
        set("asks", () => void ctx.do("x", () => 1))
        set("draws", () => void ctx.random())
        set("promises", async () => Promise.reject(new Error("later")))
        ctx.setQueryHandler("done", () => done)
        await ctx.waitForEvent("go")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await expect(settled(engine, handle.update("asks"))).rejects.toMatchObject({ code: "READ_ONLY_HANDLER" })
      await expect(settled(engine, handle.update("draws"))).rejects.toMatchObject({ code: "READ_ONLY_HANDLER" })
      await expect(settled(engine, handle.update("promises"))).rejects.toMatchObject({ code: "BAD_QUERY" })
      expect(await handle.query("done")).toEqual([])
      expect(await stepsSeen(handle)).toEqual(["go waiting"])
    })

    it("whose handler throws fail for their caller, and the run goes on", async () => {
      const engine = await open({ workflows: [basket] })
      const handle = await engine.start(basket, { id: "i" })
      await engine.settle()
      await expect(settled(engine, handle.update("fail"))).rejects.toMatchObject({ name: "RangeError", message: "not today", left: 0 })
      await expect(settled(engine, handle.update("function"))).rejects.toMatchObject({ code: "UNSERIALIZABLE" })
      await expect(handle.update("add", () => 1)).rejects.toMatchObject({ code: "UNSERIALIZABLE" })
      await expect(handle.update("")).rejects.toMatchObject({ code: "BAD_NAME" })
      await engine.crash()
      await engine.sendEvent("i", "close")
      expect(await handle.result()).toEqual([])
    })

    it("several at once are done in the order in which they were delivered, each answered with its own", async () => {
      const delivered: string[] = []
      const engine = await open({ workflows: [basket], wrap: (store) => notingDeliveries(store, delivered) })
      const handle = await engine.start(basket, { id: "i" })
      await engine.settle()
      const names = Array.from({ length: 50 }, (_, n) => "x".repeat(n + 1))
      const answers = await settled(engine, Promise.all(names.map((name) => handle.update<{ items: number; price: number }>("add", name))))
      expect(answers.map(({ price }) => price)).toEqual(names.map(({ length }) => length))
      expect(delivered).toHaveLength(50)
      expect(new Set(delivered)).toEqual(new Set(names))
      expect(await handle.query("items")).toEqual(delivered)
      expect(answers.map(({ items }) => items)).toEqual(names.map((name) => delivered.indexOf(name) + 1))
    })

    it("keep the types of arguments and answers", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        ctx.setUpdateHandler("echo", (...args: unknown[]) => args)
        await ctx.waitForEvent("go")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      const args = [new Date(1), new Map([[1n, new Set()]]), undefined, { text: "\u0000" }]
      expect(await settled(engine, handle.update("echo", ...args))).toEqual(args)
      expect(await settled(engine, handle.update("echo"))).toEqual([])
    })

    it("sent while it is paused are done when it is resumed", async () => {
      const engine = await open({ workflows: [basket] })
      const handle = await engine.start(basket, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      let isAnswered = false
      const answer = handle.update("add", "fig").finally(() => (isAnswered = true))
      await engine.skip("1d")
      expect(isAnswered).toBe(false)
      expect(await handle.status()).toBe("paused")
      await handle.resume()
      expect(await settled(engine, answer)).toEqual({ items: 1, price: 3 })
    })

    it("are refused by an instance that is over, has not started, or does not exist", async () => {
      const engine = await open({ workflows: [basket] })
      const [over, delayed] = [await engine.start(basket, { id: "over" }), await engine.start(basket, { id: "delayed", delay: "1h" })]
      await engine.sendEvent("over", "close")
      await expect(over.update("add", "fig")).rejects.toMatchObject({ code: "INSTANCE_ENDED" })
      await expect(settled(engine, delayed.update("add", "fig"))).rejects.toMatchObject({ code: "NOT_STARTED" })
      await expect(engine.get("nobody").update("add", "fig")).rejects.toMatchObject({ code: "NOT_FOUND" })
    })

    it("that are not answered when the instance ends, is terminated, restarted or goes on as new, fail at once", async () => {
      const looping = workflow("looping", async (ctx: Context) => {
        ctx.setUpdateHandler("hang", () => ctx.waitForEvent("never"))
        await ctx.waitForEvent("next")
        return ctx.continueAsNew()
      })
      const engine = await open({ workflows: [basket, looping] })
      const ways: Record<string, (id: string) => Promise<unknown>> = {
        ended: (id) => engine.sendEvent(id, "close"),
        cancelled: (id) => engine.get(id).cancel(),
        terminated: (id) => engine.get(id).terminate(),
        restarted: (id) => engine.get(id).restart(),
        continued: (id) => engine.sendEvent(id, "next"),
      }
      for (const [id, end] of Object.entries(ways)) {
        const handle = await engine.start(id === "continued" ? looping : basket, { id })
        await engine.settle()
        const answer = handle.update("hang").catch((error: unknown) => (error as { code: string }).code)
        await engine.settle()
        await end(id)
        await engine.settle()
        expect([id, await answer]).toEqual([id, id === "cancelled" ? "CANCELLED" : "INSTANCE_ENDED"])
      }
    })

    it("that nobody had read when the instance was restarted fail, those sent to its new run do not", async () => {
      const engine = await open({ workflows: [basket] })
      const handle = await engine.start(basket, { id: "i" })
      await engine.settle()
      await handle.pause()
      await engine.settle()
      const dropped = handle.update("add", "fig").catch((error: unknown) => (error as { code: string }).code)
      await engine.settle()
      await handle.restart()
      const taken = handle.update("add", "plum")
      await engine.settle()
      expect(await dropped).toBe("INSTANCE_ENDED")
      expect(await taken).toEqual({ items: 1, price: 4 })
    })

    it("that were accepted before the step of a restart are kept by the new run, and answered by it", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        ctx.setUpdateHandler("wait", async () => [ctx.instance.run, await ctx.waitForEvent("word")])
        await ctx.waitForEvent("go")
        await ctx.do("after", () => 1)
        await ctx.waitForEvent("stop")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      const answer = handle.update("wait")
      await engine.settle()
      await engine.sendEvent("i", "go")
      await handle.restart({ from: "after" })
      await engine.settle()
      await engine.sendEvent("i", "word", "kept")
      expect(await answer).toEqual([2, "kept"])
    })

    it("the one that ends the workflow is answered", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        let end: (value: unknown) => void = () => undefined
        const ended = new Promise<unknown>((resolve) => (end = resolve))
        ctx.setUpdateHandler("end", (value: string) => {
          end(value)
          return `ended with ${value}`
        })
        return Promise.race([ended, ctx.sleep("patience", "30d")])
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(await settled(engine, handle.update("end", "x"))).toBe("ended with x")
      expect(await handle.result()).toBe("x")
      await engine.crash()
      expect(await handle.result()).toBe("x")
    })

    it("a crash between acceptance and answer: it goes on, what is recorded does not repeat, and a caller elsewhere is answered", async () => {
      const calls: string[] = []
      let gate = new Gate()
      const flow = workflow("flow", async (ctx: Context) => {
        ctx.setUpdateHandler("work", async (name: string) => {
          await ctx.do("first", () => calls.push(`first ${name}`))
          await ctx.do("second", () => gate.passed.then(() => calls.push(`second ${name}`)))
          return `${name} done`
        })
        await ctx.waitForEvent("go")
      })
      const { engine, client } = await openWithClient(open, { workflows: [flow] }, [])
      await engine.start(flow, { id: "i" })
      await engine.settle()
      const answers = Promise.all(["a", "b"].map((name) => client.update("i", "work", name)))
      await noticed(engine)
      expect(await entriesSeen(engine.get("i"))).toContain("update.accepted")
      // The two updates are sent concurrently.
      expect(calls.toSorted()).toEqual(["first a", "first b"])
      gate = new Gate()
      gate.open()
      await engine.crash()
      await engine.skip("2s")
      expect(await answers).toEqual(["a done", "b done"])
      expect(calls.slice(2).toSorted()).toEqual(["second a", "second b"])
      await client.close()
    })

    it("are durable before the handler runs: one that was delivered is done, also when the process dies before it is read", async () => {
      const { engine, client } = await openWithClient(open, { workflows: [basket] }, [])
      await engine.start(basket, { id: "i" })
      await engine.evict("i")
      const answer = client.update("i", "add", "apple")
      await new Promise<void>((resolve) => engine.host.quiesce(resolve))
      await engine.crash()
      await noticed(engine)
      await engine.skip("2s")
      expect(await answer).toEqual({ items: 1, price: 5 })
      await client.close()
    })

    it("of a client in another process are answered, refused, and fail there", async () => {
      const { engine, client } = await openWithClient(open, { workflows: [basket] }, [])
      await engine.start(basket, { id: "i" })
      await engine.settle()
      const all = Promise.allSettled([
        client.update("i", "add", "apple"),
        client.update("i", "add", "nothing"),
        client.update("i", "fail"),
        client.update("i", "hang"),
      ])
      await noticed(engine)
      await engine.skip("2s")
      await engine.sendEvent("i", "close")
      await engine.skip("2s")
      expect((await all).map((one) => (one.status === "fulfilled" ? one.value : (one.reason as Error).message.slice(0, 20)))).toEqual([
        { items: 1, price: 5 },
        "nothing is no item",
        "not today",
        'instance "i" ended, ',
      ])
      await client.close()
    })

    it("a closed engine rejects waiting callers with ENGINE_CLOSED", async () => {
      const { engine, client } = await openWithClient(open, { workflows: [basket] }, [])
      const handle = await engine.start(basket, { id: "i" })
      await engine.settle()
      const [here, there] = [handle.update("hang"), client.update("i", "hang")].map((answer) =>
        answer.catch((error: unknown) => (error as { code: string }).code),
      )
      await noticed(engine)
      await client.close()
      await engine.close()
      expect([await here, await there]).toEqual(["ENGINE_CLOSED", "ENGINE_CLOSED"])
      await expect(client.update("i", "add", "fig")).rejects.toMatchObject({ code: "ENGINE_CLOSED" })
    })

    it("an instance that updates itself and waits for the answer gets an error at once", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        ctx.setUpdateHandler("u", () => 1)
        return ctx.do("update", () => engine.get("i").update("u"), { retry: { maxAttempts: 1 } })
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await expect(handle.result()).rejects.toMatchObject({ cause: { code: "SELF_CALL" } })
    })
  })
}
