import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { CancelledError, ChildFailedError, TerminatedError } from "../../../core/errors.ts"
import type { StandardSchemaV1 } from "../../../core/workflow/standard-schema.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

/** Takes a number of at least 1, given as text. */
const count: StandardSchemaV1<string, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => (Number(value) >= 1 ? { value: Number(value) } : { issues: [{ message: "is below 1" }] }),
  },
}

const double = workflow("double", async (ctx, input: number) => ctx.do("work", () => input * 2))
const patient = workflow("patient", async (ctx: Context) => ctx.waitForEvent("word"))
const failing = workflow("failing", async () => {
  throw Object.assign(new RangeError("out of stock"), { left: 0 })
})

export function childStories(open: OpenBed): void {
  describe("children", () => {
    it("one is started, awaited, and known as its parent's", async () => {
      const parent = workflow("parent", async (ctx) => {
        const child = await ctx.startChild(double, { id: "c", input: 21, tags: ["small"] })
        return [child.id, await child.result()]
      })
      const engine = await open({ workflows: [parent, double] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await handle.result()).toEqual(["c", 42])
      expect(await engine.get("c").describe()).toMatchObject({ workflow: "double", input: 21, result: 42, parentId: "p", tags: ["small"] })
      expect(await handle.describe()).not.toHaveProperty("parentId")
      expect(await handle.steps()).toMatchObject([{ id: "c", type: "child", status: "completed", result: 42, instance: "c" }])
      expect(await entriesSeen(handle)).toEqual(["run.started", "step.started", "step.completed", "child.ended", "run.completed"])
    })

    it("one whose code needs no step, and is over as soon as it is started", async () => {
      const instant = workflow("instant", async (ctx, input: number) => [input, ctx.instance.parentId])
      const parent = workflow("parent", (ctx) => ctx.runChild(instant, { input: 1 }))
      const engine = await open({ workflows: [parent, instant] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await handle.status()).toBe("completed")
      expect(await handle.result()).toEqual([1, "p"])
    })

    it("that is not over is what its parent waits for, and why says so", async () => {
      const parent = workflow("parent", (ctx) => ctx.runChild(patient, { id: "c" }))
      const engine = await open({ workflows: [parent, patient] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await handle.status()).toBe("waiting")
      expect((await handle.why()).because).toEqual([expect.stringContaining('child "c" is not over')])
      expect(await handle.steps()).toMatchObject([{ id: "c", type: "child", status: "waiting", instance: "c" }])
      await engine.skip("1d")
      await engine.sendEvent("c", "word", "hello")
      expect(await handle.result()).toBe("hello")
    })

    it("without an id get one that can be read, is the same on replay, and another in another run", async () => {
      const seen: string[][] = []
      const parent = workflow("parent", async (ctx) => {
        const children = [await ctx.startChild(double, { input: 1 }), await ctx.startChild(double, { input: 2 }), await ctx.startChild(patient)]
        seen.push(children.map(({ id }) => id))
        await ctx.waitForEvent("go")
        return Promise.all(children.slice(0, 2).map((child) => child.result()))
      })
      const engine = await open({ workflows: [parent, double, patient] })
      const handle = await engine.start(parent, { id: "order:7" })
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("order:7", "go")
      expect(await handle.result()).toEqual([2, 4])
      expect(seen).toEqual([
        ["order:7:double", "order:7:double.2", "order:7:patient"],
        ["order:7:double", "order:7:double.2", "order:7:patient"],
      ])
      await handle.restart()
      await engine.sendEvent("order:7", "go")
      expect(await handle.result()).toEqual([2, 4])
      expect(seen.at(-1)).toEqual(["order:7:r2:double", "order:7:r2:double.2", "order:7:r2:patient"])
    })

    it("of a parent with a long id get a short one, and no two the same", async () => {
      const parent = workflow("parent", async (ctx) => {
        const children = [await ctx.startChild(double, { input: 1 }), await ctx.startChild(double, { input: 2 })]
        await ctx.sleep("nap", "1m")
        return children.map(({ id }) => id)
      })
      const engine = await open({ workflows: [parent, double] })
      const handles = [await engine.start(parent, { id: "p".repeat(256) }), await engine.start(parent, { id: "q".repeat(250) })]
      await engine.settle()
      await engine.crash()
      await engine.skip("1m")
      const ids = (await Promise.all(handles.map((handle) => handle.result()))).flat()
      expect(new Set(ids).size).toBe(4)
      for (const id of ids) {
        expect(id.length).toBeLessThanOrEqual(256)
        expect(await engine.get(id).result()).toBeTypeOf("number")
      }
    })

    it("an id of another instance rejects with ID_EXISTS, can be caught, and leaves that instance alone", async () => {
      const parent = workflow("parent", async (ctx) => {
        const code = await ctx.startChild(patient, { id: "taken" }).catch((error: unknown) => error)
        const again = await ctx.runChild(double, { id: "free", input: 1 })
        const twice = await ctx.startChild(double, { id: "free", input: 1 }).catch((error: unknown) => error)
        return [code, again, twice].map((value) => (value instanceof Error ? (value as { code?: string }).code : value))
      })
      const engine = await open({ workflows: [parent, double, patient] })
      const stranger = await engine.start(patient, { id: "taken" })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await handle.result()).toEqual(["ID_EXISTS", 2, "ID_EXISTS"])
      expect(await stepsSeen(handle)).toEqual(["taken failed", "free completed", "free#2 failed"])
      await engine.settle()
      expect(await stranger.status()).toBe("waiting")
      expect(await entriesSeen(stranger)).toEqual(["run.started", "wait.started"])
    })

    it("what is wrong with a start is thrown at once, and can be caught", async () => {
      const strict = workflow("strict", { input: count }, async (_ctx, input) => input + 1)
      const codes: unknown[] = []
      const parent = workflow("parent", async (ctx) => {
        const attempt = async (start: () => Promise<unknown>) => codes.push(await start().catch((error: unknown) => (error as { code: string }).code))
        await attempt(() => ctx.startChild(double, { id: "no spaces", input: 1 }))
        await attempt(() => ctx.startChild(double, { id: "", input: 1 }))
        await attempt(() => ctx.startChild("double", { input: () => 1 }))
        await attempt(() => ctx.startChild("nobody"))
        await attempt(() => ctx.startChild(strict, { input: "0" }))
        await attempt(() => ctx.startChild(double, { input: 1, timeout: "soon" as never }))
        await attempt(() => ctx.startChild(double, { input: 1, onParentEnd: "forget" as never }))
        await attempt(() => ctx.runChild(strict, { input: "41" }))
      })
      const engine = await open({ workflows: [parent, double, strict] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      await handle.result()
      expect(codes).toEqual(["BAD_ID", "BAD_ID", "UNSERIALIZABLE", "UNKNOWN_WORKFLOW", "INVALID_INPUT", "BAD_DURATION", "BAD_OPTION", 42])
      expect(await engine.count({}, "workflow")).toEqual({ parent: 1, strict: 1 })
    })

    it("a schema that throws is no reason to try for ever", async () => {
      const broken: StandardSchemaV1<number> = {
        "~standard": {
          version: 1,
          vendor: "test",
          validate: () => {
            throw new TypeError("the schema is broken")
          },
        },
      }
      const strict = workflow("strict", { input: broken }, async (_ctx, input) => input)
      const parent = workflow("parent", (ctx) => ctx.runChild(strict, { input: 1 }))
      const engine = await open({ workflows: [parent, strict] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.skip("1h")
      expect(await handle.status()).toBe("failed")
      await expect(handle.result()).rejects.toThrow("the schema is broken")
    })

    it("by name starts the version registered last, or the requested one, even if no worker has it yet", async () => {
      const one = workflow("flow", { version: "1" }, async () => "one")
      const two = workflow("flow", { version: "2" }, async () => "two")
      const parent = workflow("parent", async (ctx) => [
        await ctx.runChild("flow"),
        await ctx.runChild("flow", { version: "1" }),
        await ctx.runChild("flow", { id: "c", version: "3" }),
      ])
      const engine = await open({ workflows: [parent, one, two] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await engine.get("c").status()).toBe("queued")
      await engine.crash({ workflows: [parent, workflow("flow", { version: "3" }, async () => "three")] })
      expect(await handle.result()).toEqual(["two", "one", "three"])
    })

    it("one that fails throws an error that names it where its result is awaited, with its own error as the cause", async () => {
      const parent = workflow("parent", async (ctx) => {
        const child = await ctx.startChild(failing, { id: "c" })
        try {
          return await child.result()
        } catch (error) {
          return error
        }
      })
      const engine = await open({ workflows: [parent, failing] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      const error = await handle.result()
      expect(error).toBeInstanceOf(ChildFailedError)
      expect(error).toMatchObject({
        code: "CHILD_FAILED",
        message: 'child "c" (workflow "failing") failed: out of stock',
        details: { child: "c", workflow: "failing", status: "failed" },
      })
      expect((error as Error).cause).toBeInstanceOf(RangeError)
      expect((error as Error).cause).toMatchObject({ message: "out of stock", left: 0 })
      const shown = { name: "ChildFailedError", message: 'child "c" (workflow "failing") failed: out of stock', cause: { message: "out of stock" } }
      expect(await handle.steps()).toMatchObject([{ id: "c", type: "child", status: "failed", error: shown }])
    })

    it("an uncaught failure fails the parent, and each error on the way up names its instance", async () => {
      const parent = workflow("parent", (ctx) => ctx.runChild(failing))
      const grandparent = workflow("grandparent", (ctx) => ctx.runChild(parent, { id: "p" }))
      const engine = await open({ workflows: [grandparent, parent, failing] })
      const handle = await engine.start(grandparent, { id: "g" })
      await engine.settle()
      const message = 'child "p" (workflow "parent") failed: child "p:failing" (workflow "failing") failed: out of stock'
      await expect(handle.result()).rejects.toMatchObject({
        code: "CHILD_FAILED",
        message,
        cause: { code: "CHILD_FAILED", details: { child: "p:failing" }, cause: { name: "RangeError", message: "out of stock" } },
      })
      expect((await handle.why()).because.join()).toContain(message)
      expect(await engine.get("p").status()).toBe("failed")
      expect(await engine.get("p:failing").describe()).toMatchObject({ status: "failed", parentId: "p" })
    })

    it("one that was cancelled or terminated by somebody is that to its parent", async () => {
      const errors: unknown[] = []
      const parent = workflow("parent", async (ctx) => {
        for (const id of ["a", "b"]) await ctx.runChild(patient, { id }).catch((error: unknown) => errors.push(error))
      })
      const engine = await open({ workflows: [parent, patient] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      await engine.get("a").cancel("not needed")
      await engine.settle()
      await engine.get("b").terminate("broken")
      await engine.settle()
      await handle.result()
      const [cancelled, terminated] = [errors[0], errors.at(-1)] as [Error, Error]
      expect(cancelled).toMatchObject({ code: "CHILD_FAILED", message: 'child "a" (workflow "patient") was cancelled: not needed' })
      expect(cancelled.cause).toBeInstanceOf(CancelledError)
      expect(cancelled.cause).toMatchObject({ code: "CANCELLED", details: { instance: "a", reason: "not needed" } })
      expect(terminated).toMatchObject({ code: "CHILD_FAILED", details: { child: "b", workflow: "patient", status: "terminated" } })
      expect(terminated.cause).toBeInstanceOf(TerminatedError)
      expect(terminated.cause).toMatchObject({ code: "TERMINATED", details: { instance: "b", reason: "broken" } })
    })

    it("one that ran out of time is its failure", async () => {
      const parent = workflow("parent", (ctx) =>
        ctx.runChild(patient, { timeout: "1m" }).catch((error: unknown) => (error as { cause: { code: string } }).cause.code),
      )
      const engine = await open({ workflows: [parent, patient] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.skip("2m")
      expect(await handle.result()).toBe("INSTANCE_TIMEOUT")
    })

    it("a result is the same before and after the end, twice, and may never be asked for", async () => {
      const parent = workflow("parent", async (ctx) => {
        const [early, late, never] = [
          await ctx.startChild(double, { id: "early", input: 1 }),
          await ctx.startChild(double, { id: "late", input: 2 }),
          await ctx.startChild(failing, { id: "never" }),
        ]
        const before = early.result()
        await ctx.sleep("nap", "1m")
        return [await before, await early.result(), await late.result(), await late.result(), never.id]
      })
      const engine = await open({ workflows: [parent, double, failing] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      await engine.crash()
      await engine.skip("1m")
      expect(await handle.result()).toEqual([2, 2, 4, 4, "never"])
    })

    it("a failure of a child that its parent does not await has no effect", async () => {
      const parent = workflow("parent", async (ctx) => {
        const child = await ctx.startChild(failing)
        void child.result()
        void ctx.runChild(failing)
        void ctx.startChild(double, { id: "not an id", input: 1 })
        await ctx.sleep("nap", "1m")
        return "fine"
      })
      const engine = await open({ workflows: [parent, failing, double] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.skip("1m")
      expect(await handle.result()).toBe("fine")
    })

    it("race, any, all and allSettled over children and sleeps decide on replay as they did live", async () => {
      const decided: unknown[][] = []
      const parent = workflow("parent", async (ctx) => {
        const log: unknown[] = []
        decided.push(log)
        const [a, b, c] = [await ctx.startChild(patient, { id: "a" }), await ctx.startChild(patient, { id: "b" }), await ctx.startChild(failing, { id: "c" })]
        log.push(await Promise.race([a.result(), b.result(), ctx.sleep("first", "1m").then(() => "slept")]))
        log.push(await Promise.race([ctx.sleep("second", "1m").then(() => "slept"), a.result()]))
        log.push(await Promise.any([c.result(), a.result(), b.result()]))
        log.push((await Promise.allSettled([c.result(), b.result()])).map(({ status }) => status))
        await ctx.waitForEvent("go")
        log.push(await Promise.all([a.result(), b.result()]))
        return log
      })
      const engine = await open({ workflows: [parent, patient, failing] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      await engine.sendEvent("b", "word", "B")
      await engine.skip("1m")
      await engine.sendEvent("a", "word", "A")
      await engine.crash()
      await engine.sendEvent("p", "go")
      expect(await handle.result()).toEqual(["B", "slept", "B", ["rejected", "fulfilled"], ["A", "B"]])
      expect(decided).toHaveLength(2)
      expect(decided[0]?.slice(0, 4)).toEqual(decided[1]?.slice(0, 4))
    })

    it("values keep their types on the way in and out", async () => {
      const echo = workflow("echo", async (_ctx, input: unknown) => input)
      const value = { at: new Date(5), map: new Map([["k", 1n]]), set: new Set([undefined]), bytes: new Uint8Array([1, 2]), text: "\u0000 \u2028" }
      const parent = workflow("parent", (ctx) => ctx.runChild(echo, { input: value }))
      const engine = await open({ workflows: [parent, echo] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await handle.result()).toEqual(value)
    })

    it("what the code does to the input after the call is not the child's", async () => {
      const echo = workflow("echo", async (_ctx, input: { n: number }) => input.n)
      const parent = workflow("parent", async (ctx) => {
        const input = { n: 1 }
        const child = ctx.runChild(echo, { input })
        input.n = 2
        return child
      })
      const engine = await open({ workflows: [parent, echo] })
      const handle = await engine.start(parent, { id: "p" })
      await engine.settle()
      expect(await handle.result()).toBe(1)
    })

    it("a step where there was a child, and the other way round, is a disagreement", async () => {
      const child = workflow("parent", async (ctx) => {
        await ctx.startChild(patient, { id: "x" })
        return ctx.waitForEvent("go")
      })
      const step = workflow("parent", async (ctx) => {
        await ctx.do("x", () => 1)
        return ctx.waitForEvent("go")
      })
      for (const [before, after] of [
        [child, step],
        [step, child],
      ] as const) {
        const engine = await open({ workflows: [before, patient] })
        const handle = await engine.start(before, { id: "p" })
        await engine.settle()
        await engine.crash({ workflows: [after, patient] })
        await engine.sendEvent("p", "go", 1)
        expect(await handle.status()).toBe("stalled")
        expect((await handle.why()).because.join()).toMatch(before === child ? /child "x".*asks for step "x"/ : /step "x".*asks for child "x"/)
      }
    })
  })
}
