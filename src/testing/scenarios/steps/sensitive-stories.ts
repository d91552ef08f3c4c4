import { describe, expect, it } from "vitest"
import { redacted } from "../../../core/values/redaction.ts"
import { type Context } from "../../../core/workflow/context.ts"
import type { StandardSchemaV1 } from "../../../core/workflow/standard-schema.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { Logger } from "../../../ports/host.ts"
import { openWithClient } from "../other-process.ts"
import type { OpenBed } from "../scenario-bed.ts"

const secret = "s3cret"

export function sensitiveStories(open: OpenBed): void {
  /** Everything that a client can see of an instance. */
  const everything = async (engine: Awaited<ReturnType<OpenBed>>, id: string) => {
    const handle = engine.get(id)
    const changes: unknown[] = []
    for await (const change of engine.current.changes()) {
      changes.push(change)
      if (change.instance === id && /workflow\.(completed|failed)/.test(change.type)) break
    }
    return JSON.stringify([
      await handle.describe(),
      await handle.steps(),
      await handle.history({ limit: 1_000 }),
      await handle.why(),
      await engine.list(),
      changes,
    ])
  }

  describe("sensitive values", () => {
    it("the result of a step is the code's alone, and is the same after a crash", async () => {
      const flow = workflow("flow", async (ctx) => {
        const token = await ctx.do("login", () => ({ token: secret }), { sensitive: true })
        await ctx.waitForEvent("go")
        return token.token.length + (await ctx.do("use", () => token.token.length))
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toBe(2 * secret.length)
      const [login, , use] = await handle.steps()
      expect(login).toMatchObject({ id: "login", status: "completed", result: redacted })
      expect(use).toMatchObject({ result: secret.length })
      expect(await everything(engine, "i")).not.toContain(secret)
      const { entries } = await handle.history()
      expect(entries.find(({ type, data }) => type === "step.completed" && data["id"] === "login")?.data).toEqual({ id: "login", value: redacted })
    })

    it("what a step fails with is hidden while it is tried again, and when the workflow fails of it", async () => {
      let caught: unknown
      const flow = workflow("flow", async (ctx) => {
        try {
          await ctx.do(
            "login",
            () => {
              throw new Error(`wrong password ${secret}`)
            },
            { sensitive: true, retry: { maxAttempts: 2, initialInterval: "1m" } },
          )
        } catch (error) {
          caught = (error as Error).cause
          throw new Error("no access", { cause: error })
        }
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect((await handle.why()).because[0]).toContain('step "login" failed (attempt 1: [redacted])')
      expect((await handle.steps())[0]).toMatchObject({ status: "retrying", error: redacted })
      await engine.skip("2m")
      await expect(handle.result()).rejects.toMatchObject({ message: "no access", cause: { cause: { message: `wrong password ${secret}` } } })
      expect(caught).toMatchObject({ message: `wrong password ${secret}` })
      expect((await handle.describe()).error).toEqual(redacted)
      expect(await everything(engine, "i")).not.toContain(secret)
    })

    it("an outer step that fails of a sensitive one inside it hides that, too", async () => {
      const flow = workflow("flow", async (ctx) => {
        const once = { retry: { maxAttempts: 1 } }
        await ctx
          .do("outer", ({ step }) => step.do("inner", () => Promise.reject(new Error(secret)), { ...once, sensitive: true }), once)
          .catch(() => undefined)
      })
      const engine = await open({ workflows: [flow] })
      await (await engine.start(flow, { id: "i" })).result()
      expect((await engine.get("i").steps()).map(({ id, error }) => [id, error])).toEqual([
        ["outer", redacted],
        ["outer/inner", redacted],
      ])
      expect(await everything(engine, "i")).not.toContain(secret)
    })

    it("a workflow says it of its input, result, events and updates", async () => {
      const sensitive = { input: true, result: true, events: ["card"], updates: ["pin"] }
      const flow = workflow("flow", { sensitive }, async (ctx: Context<{ card: string; word: string }>, input: string) => {
        ctx.setUpdateHandler("pin", (pin: string) => `${pin}!`)
        const card = await ctx.waitForEvent("card")
        const word = await ctx.waitForEvent("word")
        return [input, card, word]
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: secret })
      await engine.settle()
      expect(await handle.update("pin", secret)).toBe(`${secret}!`)
      await engine.sendEvent("i", "card", secret)
      expect((await handle.steps())[0]).toMatchObject({ id: "card", status: "completed", result: redacted })
      await engine.crash()
      await engine.sendEvent("i", "word", "open")
      expect(await handle.result()).toEqual([secret, secret, "open"])
      expect(await handle.describe()).toMatchObject({ input: redacted, result: redacted })
      expect((await handle.steps())[1]).toMatchObject({ id: "word", result: "open" })
      expect(await everything(engine, "i")).not.toContain(secret)
      await handle.restart()
      await handle.fork({ id: "j", input: `${secret} 2` })
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ run: 2, input: redacted })
      expect(await engine.get("j").describe()).toMatchObject({ input: redacted })
    })

    it("the mark is in the journal: a reader without the code does not show the value either", async () => {
      const flow = workflow("flow", { sensitive: { input: true, result: true } }, async (ctx, input: string) => ctx.do("s", () => input, { sensitive: true }))
      const { engine, client } = await openWithClient(open, { workflows: [flow] }, [])
      await (await engine.start(flow, { id: "i", input: secret })).result()
      await engine.settle()
      expect(JSON.stringify([await client.describe("i"), await client.get("i").history()])).not.toContain(secret)
      expect(await client.get("i").result()).toBe(secret)
      await client.close()
    })

    it("a child's is hidden in its parent, and so is what its next runs begin with", async () => {
      const child = workflow("child", { sensitive: { input: true, result: true } }, async (ctx, input: { text: string; more: boolean }): Promise<string> => {
        if (input.more) return ctx.continueAsNew({ text: input.text, more: false })
        return input.text
      })
      const failing = workflow("failing", { sensitive: { result: true } }, () => Promise.reject(new Error(secret)))
      const flow = workflow("flow", async (ctx) => {
        const text = await ctx.runChild(child, { id: "c", input: { text: await ctx.do("s", () => secret, { sensitive: true }), more: true } })
        await ctx.runChild(failing, { id: "f" })
        return text.length
      })
      const engine = await open({ workflows: [flow, child, failing] })
      const handle = await engine.start(flow, { id: "i" })
      await engine.skipToEnd("i")
      await expect(handle.result()).rejects.toMatchObject({ code: "CHILD_FAILED", details: { child: "f" }, cause: { message: secret } })
      expect((await handle.steps()).map(({ id, result, error }) => [id, result ?? error])).toEqual([
        ["s", redacted],
        ["c", redacted],
        ["f", redacted],
      ])
      expect(await everything(engine, "i")).not.toContain(secret)
      expect(await engine.get("c").describe()).toMatchObject({ run: 2, input: redacted, result: redacted })
    })

    it("a schedule does not show the input of its instances", async () => {
      const flow = workflow("flow", { sensitive: { input: true } }, async (_ctx, input: string) => input.length)
      const engine = await open({ workflows: [flow] })
      const schedule = await engine.schedules.create("s", { workflow: flow, input: secret, every: "1h" })
      expect((await schedule.describe()).input).toEqual(redacted)
      await schedule.update({ tags: ["t"] })
      expect((await schedule.describe()).input).toEqual(redacted)
      await engine.skip("1h")
      const [instance] = (await engine.list()).instances
      expect(await engine.get(instance?.id ?? "").describe()).toMatchObject({ input: redacted, result: secret.length })
    })

    it("an input that a schedule gets when its workflow has come to say so is not shown either", async () => {
      const before = workflow("flow", async (_ctx, input: string) => input.length)
      const engine = await open({ workflows: [before] })
      const schedule = await engine.schedules.create("s", { workflow: before, input: "open", every: "1h" })
      await engine.crash({ workflows: [workflow("flow", { sensitive: { input: true } }, async (_ctx, input: string) => input.length)] })
      expect((await schedule.describe()).input).toBe("open")
      await schedule.update({ input: secret })
      expect((await schedule.describe()).input).toEqual(redacted)
    })

    it("what undoes a sensitive step, and what it fails with, is hidden as well", async () => {
      const undone: unknown[] = []
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("charge", () => secret, {
          sensitive: true,
          rollback: {
            run: (result) => {
              undone.push(result)
              throw new Error(`cannot undo ${result}`)
            },
            retry: { maxAttempts: 1 },
          },
        })
        throw new Error("too late")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i" })
      await expect(handle.result()).rejects.toThrow("too late")
      expect(undone).toEqual([secret])
      expect(await everything(engine, "i")).not.toContain(secret)
    })

    it("the engine's own log lines do not show it", async () => {
      const lines: unknown[] = []
      const note = (message: string, data?: Record<string, unknown>) =>
        void lines.push(message, data?.["error"] instanceof Error ? data["error"].message : data)
      const log: Logger = { debug: note, info: note, warn: note, error: note }
      const flow = workflow("flow", { onFailed: ({ error }) => Promise.reject(error as Error), sensitive: { result: true } }, () =>
        Promise.reject(new Error(secret)),
      )
      const engine = await open({ workflows: [flow], log, retry: { maxAttempts: 1 } })
      await expect((await engine.start(flow)).result()).rejects.toThrow(secret)
      await engine.settle()
      expect(JSON.stringify(lines)).toContain("hook of instance")
      expect(JSON.stringify(lines)).not.toContain(secret)
    })

    it("why an instance stalled does not tell what its code threw", async () => {
      let isChanged = false
      const login = () => Promise.reject(new Error(secret))
      const ofStep = workflow("ofStep", async (ctx: Context) => {
        const failure: unknown = await ctx.do("login", login, { sensitive: true, retry: { maxAttempts: 1 } }).catch((error: unknown) => error)
        if (isChanged) throw failure
        await ctx.sleep("nap", "1h")
      })
      const ofResult = workflow("ofResult", { sensitive: { result: true } }, async (ctx: Context) => {
        if (isChanged) throw new Error(secret)
        await ctx.sleep("nap", "1h")
      })
      const engine = await open({ workflows: [ofStep, ofResult] })
      const handles = [await engine.start(ofStep), await engine.start(ofResult)]
      await engine.settle()
      isChanged = true
      await engine.crash()
      await engine.skip("2h")
      for (const handle of handles) {
        const told = JSON.stringify([await handle.describe(), await handle.history(), await handle.why()])
        expect(told).toContain("but the code throws an error that is not shown")
        expect(told).not.toContain(secret)
      }
    })

    it("what is wrong with the input of a child, of a next run, or with an event to a child, is hidden in the journal", async () => {
      const validate = (value: unknown) => (value === 1 ? { value } : { issues: [{ message: `not ${String(value)}` }] })
      const schema: StandardSchemaV1 = { "~standard": { version: 1, vendor: "test", validate } }
      const child = workflow("child", { input: schema, events: { card: schema }, sensitive: { input: true, events: ["card"] } }, async (ctx) => {
        await ctx.do("work", () => 1)
        await ctx.continueAsNew(secret)
      })
      const parent = workflow("parent", async (ctx: Context, what: string) => {
        const started = await ctx.startChild(child, { id: `${what}-child`, input: what === "input" ? secret : 1 })
        if (what === "event") await started.sendEvent("card", secret)
        await started.result()
      })
      const engine = await open({ workflows: [parent, child], retry: { maxAttempts: 1 } })
      for (const what of ["input", "event", "next"]) {
        const handle = await engine.start(parent, { id: what, input: what })
        await expect(handle.result()).rejects.toThrow(secret)
        expect(await everything(engine, what)).not.toContain(secret)
      }
      expect(await everything(engine, "next-child")).not.toContain(secret)
      await expect(engine.start(child, { input: secret })).rejects.toThrow(secret)
    })

    it("invalid sensitive marks are refused", async () => {
      const wrong = [{ inputs: true }, { input: "yes" }, { events: "card" }, { updates: [1] }]
      for (const sensitive of wrong)
        expect(() => workflow("w", { sensitive: sensitive as never }, async () => 1)).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
      const flow = workflow("flow", async (ctx) => ctx.do("s", () => 1, { sensitive: "output" as never }))
      const engine = await open({ workflows: [flow] })
      await expect((await engine.start(flow)).result()).rejects.toMatchObject({ code: "BAD_OPTION" })
    })
  })
}
