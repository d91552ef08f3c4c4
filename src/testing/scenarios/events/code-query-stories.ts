import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { noticed, openWithClient } from "../other-process.ts"
import { type OpenBed } from "../scenario-bed.ts"

/** Answers a query with its progress. */
const worker = workflow("worker", async (ctx: Context, input: string) => {
  let at = "begun"
  ctx.setQueryHandler("where", () => [at, ctx.instance.id, ctx.currentStep])
  at = `${at}, ${await ctx.do("first", () => "worked")}`
  if (input === "sleep") await ctx.sleep("nap", "1h")
  if (input === "wait") await ctx.waitForEvent("go")
  if (input === "throw") throw new Error("as told")
  at = `${at}, done`
  return at
})

export function codeQueryStories(open: OpenBed): void {
  describe("queries of workflow code", () => {
    it("are answered while it runs, sleeps, waits and is paused, from memory and without", async () => {
      const gate = new Gate<string>()
      const engine = await open({ workflows: [worker] })
      engine.mockStep(worker, "first", () => gate.passed, { times: 1 })
      const running = await engine.start(worker, { id: "running", input: "return" })
      await engine.settle()
      expect(await running.query("where")).toEqual(["begun", "running", "first"])
      gate.open("worked")
      await engine.settle()
      for (const input of ["sleep", "wait"]) await engine.start(worker, { id: input, input })
      await engine.start(worker, { id: "paused", input: "wait" })
      await engine.settle()
      await engine.get("paused").pause()
      await engine.settle()
      for (const forget of [() => engine.settle(), () => engine.evict("wait"), () => engine.crash()]) {
        await forget()
        expect(await engine.get("sleep").query("where")).toEqual(["begun, worked", "sleep", "nap"])
        expect(await engine.get("wait").query("where")).toEqual(["begun, worked", "wait", "go"])
        expect(await engine.get("paused").query("where")).toEqual(["begun, worked", "paused", "go"])
        expect(await running.query("where")).toEqual(["begun, worked, done", "running", "first"])
      }
    })

    it("are answered when it is over, however it ended, and after a restart by the new run", async () => {
      const engine = await open({ workflows: [worker] })
      const ids = ["return", "throw", "cancelled", "terminated"]
      for (const id of ids) await engine.start(worker, { id, input: id.endsWith("ed") ? "wait" : id })
      await engine.settle()
      await engine.get("cancelled").cancel()
      await engine.get("terminated").terminate()
      await engine.settle()
      for (const forget of [() => engine.settle(), () => engine.crash()]) {
        await forget()
        const answers = await Promise.all(ids.map(async (id) => (await engine.get(id).query<string[]>("where"))[0]))
        expect(answers).toEqual(["begun, worked, done", "begun, worked", "begun, worked", "begun, worked"])
      }
      await engine.get("throw").restart()
      await engine.settle()
      expect(await engine.get("throw").query("where")).toEqual(["begun, worked", "throw", "first"])
    })

    it("see the state as it is committed: not what a turn that is being written has changed", async () => {
      const hold = { commits: undefined as Gate | undefined }
      const counter = workflow("counter", async (ctx: Context) => {
        let n = 0
        ctx.setQueryHandler("n", () => n)
        for (;;) {
          await ctx.waitForEvent("more")
          n++
        }
      })
      const engine = await open({
        workflows: [counter],
        wrap: (provider) => ({
          name: provider.name,
          open: async (context) => {
            const store = await provider.open(context)
            const { journal } = store
            const commit: typeof journal.commit = async (turns) => {
              await hold.commits?.passed
              return journal.commit(turns)
            }
            return new Proxy(store, {
              get: (target, name) => {
                if (name === "journal") return new Proxy(journal, { get: (inner, key) => (key === "commit" ? commit : bound(inner, key)) })
                return bound(target, name)
              },
            })
          },
        }),
      })
      const handle = await engine.start(counter, { id: "i" })
      await engine.sendEvent("i", "more")
      expect(await handle.query("n")).toBe(1)
      hold.commits = new Gate()
      const sending = handle.sendEvent("more")
      for (let passed = 0; passed < 10; passed++) await new Promise<void>((resolve) => engine.host.quiesce(resolve))
      expect(await handle.query("n")).toBe(1)
      hold.commits.open()
      await sending
      await engine.settle()
      expect(await handle.query("n")).toBe(2)
    })

    it("change nothing: the journal is the same, and so is what comes after", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        const seen: unknown[] = []
        ctx.setQueryHandler("look", () => seen.push("looked"))
        ctx.setQueryHandler("spoil", (list: unknown[]) => {
          list.push("spoilt")
          return list
        })
        await ctx.waitForEvent("go")
        return [ctx.random(), ctx.uuid()]
      })
      const engine = await open({ workflows: [flow], seed: "same" })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      const before = await engine.journal("i")
      const list = [1]
      for (const forget of [() => engine.settle(), () => engine.evict("i")]) {
        await forget()
        await handle.query("look")
        expect(await handle.query("spoil", list)).toEqual([1, "spoilt"])
      }
      await engine.settle()
      expect(list).toEqual([1])
      expect(await engine.journal("i")).toEqual(before)
    })

    it("may ask for nothing, draw nothing and set nothing; a promise is no answer", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        const child = await ctx.startChild("other", { id: "c" })
        const asks: Record<string, () => unknown> = {
          do: () => ctx.do("x", () => 1),
          "do and forget": () => {
            void ctx.do("x", () => 1)
            return "an answer all the same"
          },
          sleep: () => ctx.sleep("x", 1),
          wait: () => ctx.waitForEvent("x"),
          child: () => ctx.startChild("other"),
          "child's result": () => child.result(),
          "child's event": () => child.sendEvent("word"),
          random: () => ctx.random(),
          uuid: () => ctx.uuid(),
          patched: () => ctx.patched("p"),
          continue: () => ctx.continueAsNew(),
          onEvent: () => ctx.onEvent("x", () => 1),
          query: () => ctx.setQueryHandler("x", () => 1),
          update: () => ctx.setUpdateHandler("x", () => 1),
          caught: () => {
            try {
              return ctx.random()
            } catch {
              return 4
            }
          },
        }
        for (const [name, ask] of Object.entries(asks)) ctx.setQueryHandler(name, ask)
        ctx.setQueryHandler("promise", async () => Promise.reject(new Error("nobody sees this")))
        ctx.setQueryHandler("names", () => Object.keys(asks))
        await ctx.waitForEvent("go")
        return ctx.random()
      })
      const other = workflow("other", async (ctx) => ctx.waitForEvent("word"))
      const engine = await open({ workflows: [flow, other] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      const before = await engine.journal("i")
      for (const forget of [() => engine.settle(), () => engine.evict("i")]) {
        await forget()
        for (const name of await handle.query<string[]>("names"))
          await expect(handle.query(name)).rejects.toMatchObject({
            code: "READ_ONLY_HANDLER",
            message: expect.stringContaining(`query "${name}"`) as string,
          })
        await expect(handle.query("promise")).rejects.toMatchObject({ code: "BAD_QUERY" })
      }
      await engine.settle()
      expect(await engine.journal("i")).toEqual(before)
      await engine.sendEvent("i", "go")
      expect(await handle.status()).toBe("completed")
    })

    it("an unknown one names those there are; an error of the handler's is its caller's", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        ctx.setQueryHandler("a", () => 1)
        ctx.setQueryHandler("fail", () => {
          throw new RangeError("no answer")
        })
        ctx.setQueryHandler("function", () => () => 1)
        await ctx.waitForEvent("go")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await expect(handle.query("b")).rejects.toMatchObject({ code: "UNKNOWN_QUERY", details: { known: ["a", "fail", "function"] } })
      await expect(handle.query("fail")).rejects.toBeInstanceOf(RangeError)
      await expect(handle.query("function")).rejects.toMatchObject({ code: "UNSERIALIZABLE" })
      await expect(handle.query("a", () => 1)).rejects.toMatchObject({ code: "UNSERIALIZABLE" })
      await expect(handle.query("")).rejects.toMatchObject({ code: "BAD_NAME" })
      await expect(engine.get("nobody").query("a")).rejects.toMatchObject({ code: "NOT_FOUND" })
      expect(await handle.status()).toBe("waiting")
    })

    it("arguments and answers keep their types and are copies", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        const kept = { at: new Date(5), map: new Map([["k", 1n]]) }
        ctx.setQueryHandler("echo", (...args: unknown[]) => args)
        ctx.setQueryHandler("kept", () => kept)
        ctx.setQueryHandler("nothing", () => undefined)
        await ctx.waitForEvent("go")
        return kept
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      const args = [new Date(1), new Set([1n]), undefined, { deep: [new Uint8Array([1])] }]
      expect(await handle.query("echo", ...args)).toEqual(args)
      const kept = await handle.query<{ at: Date; map: Map<string, bigint> }>("kept")
      kept.map.clear()
      expect(await handle.query("kept")).toEqual({ at: new Date(5), map: new Map([["k", 1n]]) })
      expect(await handle.query("nothing")).toBeUndefined()
    })

    it("one that has not started answers none", async () => {
      const engine = await open({ workflows: [worker] })
      const handle = await engine.start(worker, { id: "i", input: "wait", delay: "1h" })
      await engine.settle()
      await expect(handle.query("where")).rejects.toMatchObject({ code: "NOT_STARTED" })
      await engine.skip("1h")
      expect(await handle.query("where")).toEqual(["begun, worked", "i", "go"])
    })

    it("are answered in any process that has the code, and NO_WORKER in one that has not", async () => {
      const { engine, client } = await openWithClient(open, { workflows: [worker] }, [worker])
      await client.start(worker, { id: "i", input: "wait" })
      await noticed(engine)
      expect(await client.query("i", "where")).toEqual(["begun, worked", "i", "go"])
      await client.close()
      const { engine: second, client: other } = await openWithClient(open, { workflows: [worker] }, [workflow("worker", { version: "2" }, async () => 1)])
      await other.start("worker", { id: "j", input: "wait", version: "1" })
      await expect(other.query("j", "where")).rejects.toMatchObject({ code: "NO_WORKER", details: { workflow: "worker", version: "1" } })
      await expect(other.query("j", "where")).rejects.toThrow('it has "2"')
      await noticed(second)
      expect(await other.get(worker, "j").query("where")).toEqual(["begun, worked", "j", "go"])
      await other.close()
    })

    it("code that does not fit the journal gives no answer; one that takes its time does", async () => {
      const other = workflow("worker", async (ctx: Context) => {
        ctx.setQueryHandler("where", () => "elsewhere")
        await ctx.sleep("another", "1m")
      })
      const slow = workflow("worker", async (ctx: Context) => {
        ctx.setQueryHandler("where", () => "slowly")
        for (let passed = 0; passed < 200; passed++) await new Promise<void>((resolve) => engine.host.quiesce(resolve))
        await ctx.do("first", () => "worked")
        await ctx.waitForEvent("go")
      })
      const engine = await open({ workflows: [worker] })
      const handle = await engine.start(worker, { id: "i", input: "wait" })
      await engine.settle()
      await engine.crash({ workflows: [slow] })
      expect(await handle.query("where")).toBe("slowly")
      await engine.crash({ workflows: [other] })
      const answer = handle.query("where").catch((error: unknown) => error)
      await engine.skip("1m")
      expect(await answer).toMatchObject({ code: "JOURNAL_MISMATCH" })
    })

    it("promises that the code leaves behind in a replay have no effect", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        ctx.setQueryHandler("q", () => "fine")
        void ctx.do("fails", () => Promise.reject(new Error("left behind")), { retry: { maxAttempts: 1 } })
        void ctx.runChild("flow", { id: "not an id" })
        await ctx.sleep("nap", "1m")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      await engine.crash()
      expect(await handle.query("q")).toBe("fine")
    })

    it("a very long journal is read in passing", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        let n = 0
        ctx.setQueryHandler("n", () => n)
        for (; n < 3_000;) n = await ctx.do("count", () => n + 1)
        await ctx.waitForEvent("go")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.evict("i")
      expect(await handle.query("n")).toBe(3_000)
      expect(engine.current.components.worker.isResident("i")).toBe(false)
    }, 240_000)

    it("may be asked by a step of another instance, and by one of its own", async () => {
      const asker = workflow("asker", async (ctx: Context) => {
        ctx.setQueryHandler("own", () => "own")
        return ctx.do("ask", async () => [await engine.get("i").query("where"), await engine.get(ctx.instance.id).query("own")])
      })
      const engine = await open({ workflows: [worker, asker] })
      await engine.start(worker, { id: "i", input: "wait" })
      await engine.settle()
      const handle = await engine.start(asker, { id: "a" })
      await engine.settle()
      expect(await handle.result()).toEqual([["begun, worked", "i", "go"], "own"])
    })
  })
}

function bound<T extends object>(target: T, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name)
  return typeof value === "function" ? (...args: unknown[]): unknown => Reflect.apply(value, target, args) : value
}
