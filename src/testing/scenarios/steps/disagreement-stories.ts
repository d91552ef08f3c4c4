import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow, type AnyWorkflow } from "../../../core/workflow/workflow.ts"
import { Gate } from "../gate.ts"
import { stepsSeen, type OpenBed } from "../scenario-bed.ts"

const flow = (run: (ctx: Context) => Promise<unknown>): AnyWorkflow => workflow("flow", run)

export function disagreementStories(open: OpenBed): void {
  const calls: string[] = []
  const right = flow(async (ctx) => {
    const a = await ctx.do("a", () => (calls.push("a"), "A"))
    await ctx.sleep("nap", "1m")
    const word = await ctx.waitForEvent("word", { type: "answer" })
    return [a, word, await ctx.do("b", () => "B")]
  })

  /** Runs the right code up to its wait, deploys the wrong code, and returns the description of the instance. */
  const deploy = async (wrong: AnyWorkflow) => {
    calls.length = 0
    const engine = await open({ workflows: [right] })
    const handle = await engine.start(right, { id: "i" })
    await engine.skip("1m")
    expect(await handle.status()).toBe("waiting")
    await engine.crash({ workflows: [wrong] })
    await engine.sendEvent("i", "answer", "yes")
    await engine.skip("5s")
    return { engine, handle, description: await handle.describe() }
  }

  /** Deploys the code that recorded the journal, resumes the instance, and expects it to complete. */
  const recovers = async ({ engine, handle }: Awaited<ReturnType<typeof deploy>>) => {
    await engine.crash({ workflows: [right] })
    expect(await handle.status()).toBe("stalled")
    expect(await handle.resume()).toMatchObject({ accepted: true })
    await engine.settle()
    expect(await handle.result()).toEqual(["A", "yes", "B"])
    expect(calls).toEqual(["a"])
  }

  describe("journal and code that disagree", () => {
    it("a recorded ask that does not come", async () => {
      const deployed = await deploy(
        flow(async (ctx) => {
          await ctx.do("other", () => calls.push("other"))
        }),
      )
      expect(deployed.description).toMatchObject({ status: "stalled", error: { code: "STALLED", details: { code: "JOURNAL_MISMATCH" } } })
      expect((deployed.description.error as Error).message).toContain('the journal has step "a" at position 2, but the code asks for step "other"')
      await recovers(deployed)
    })

    it("a recorded ask that does not come, for which the code asks in another order", async () => {
      const deployed = await deploy(
        flow(async (ctx) => {
          await ctx.sleep("nap", "1m")
          await ctx.do("a", () => calls.push("a"))
        }),
      )
      expect((deployed.description.error as Error).message).toContain('has step "a" at position 2, but the code asks for sleep "nap"')
      await recovers(deployed)
    })

    it("an ask of another kind", async () => {
      const deployed = await deploy(
        flow(async (ctx) => {
          await ctx.do("a", () => calls.push("a"))
          await ctx.do("nap", () => calls.push("nap"))
        }),
      )
      expect((deployed.description.error as Error).message).toMatch(/has sleep "nap" at position \d+, but the code asks for step "nap"/)
      await recovers(deployed)
    })

    it("a wait for another event", async () => {
      const deployed = await deploy(
        flow(async (ctx) => {
          await ctx.do("a", () => calls.push("a"))
          await ctx.sleep("nap", "1m")
          await ctx.waitForEvent("word", { type: "payment" })
        }),
      )
      expect((deployed.description.error as Error).message).toMatch(
        /has wait "word" for event "answer" at position \d+, but the code asks for wait "word" for event "payment"/,
      )
      await recovers(deployed)
    })

    it("code that ends early, with a result or with an error", async () => {
      for (const end of [() => "done", () => Promise.reject(new Error("broken deploy"))]) {
        const deployed = await deploy(
          flow(async (ctx) => {
            await ctx.do("a", () => calls.push("a"))
            return end()
          }),
        )
        expect((deployed.description.error as Error).message).toMatch(
          /has sleep "nap" at position \d+, but the code (ends without|throws Error: broken deploy instead of) asking for it/,
        )
        await recovers(deployed)
      }
    })

    it("code that asks for nothing", async () => {
      const deployed = await deploy(flow(() => new Promise<never>(() => undefined)))
      expect((deployed.description.error as Error).message).toContain("but the code asks for nothing")
      await recovers(deployed)
    })

    it("more steps after what is recorded are no disagreement", async () => {
      const { handle, engine } = await deploy(
        flow(async (ctx) => {
          const a = await ctx.do("a", () => "not called")
          await ctx.sleep("nap", "7d")
          const word = await ctx.waitForEvent("word", { type: "answer" })
          return [a, word, await ctx.do("new", () => "new")]
        }),
      )
      await engine.settle()
      expect(await handle.result()).toEqual(["A", "yes", "new"])
    })

    it("resumed with the wrong code it stalls again, and nothing is lost", async () => {
      const deployed = await deploy(flow((ctx) => ctx.do("other", () => calls.push("other"))))
      for (let i = 0; i < 3; i++) {
        expect(await deployed.handle.resume()).toMatchObject({ accepted: true })
        await deployed.engine.skip("5s")
        expect(await deployed.handle.status()).toBe("stalled")
      }
      await recovers(deployed)
    })

    it("a stalled instance keeps its events, refuses cancel and pause, and can be terminated or restarted", async () => {
      const { engine, handle } = await deploy(flow((ctx) => ctx.do("other", () => calls.push("other"))))
      expect(await handle.cancel()).toMatchObject({ accepted: false, status: "stalled", reason: expect.stringContaining("terminate") as string })
      expect(await handle.pause()).toMatchObject({ accepted: false, status: "stalled" })
      expect(await handle.restart()).toMatchObject({ accepted: true })
      await engine.settle()
      expect(await handle.result()).toBe(2)
      const other = await deploy(flow((ctx) => ctx.do("other", () => calls.push("other"))))
      expect(await other.handle.terminate()).toMatchObject({ accepted: true, status: "terminated" })
      await expect(other.handle.result()).rejects.toMatchObject({ code: "TERMINATED" })
    })

    it("whoever waits for the result of a stalled instance still gets it after the repair", async () => {
      const deployed = await deploy(flow((ctx) => ctx.do("other", () => calls.push("other"))))
      const result = deployed.handle.result()
      await recovers(deployed)
      expect(await result).toEqual(["A", "yes", "B"])
    })
  })

  describe("awaiting what is not of ctx", () => {
    it("for ever stalls the instance after the grace, and the right code goes on", async () => {
      const foreign = flow(async (ctx) => {
        const a = await ctx.do("a", () => "A")
        await new Promise<never>(() => undefined)
        return a
      })
      const engine = await open({ workflows: [foreign], replayGrace: "5s" })
      const handle = await engine.start(foreign, { id: "i" })
      await engine.skip("4s")
      expect(await handle.status()).toBe("running")
      await engine.skip("1s")
      expect(await handle.status()).toBe("stalled")
      expect((await handle.describe()).error).toMatchObject({ details: { code: "FOREIGN_AWAIT" } })
      await engine.crash({ workflows: [flow(async (ctx) => [await ctx.do("a", () => "again"), await ctx.do("b", () => "B")])] })
      await handle.resume()
      await engine.settle()
      expect(await handle.result()).toEqual(["A", "B"])
    })

    it("for a moment is tolerated, live and on replay", async () => {
      const gate = new Gate()
      const tolerant = flow(async (ctx) => {
        const a = await ctx.do("a", () => "A")
        await gate.passed
        await crypto.subtle.digest("SHA-256", new Uint8Array(1_000))
        await ctx.waitForEvent("word")
        return a
      })
      const engine = await open({ workflows: [tolerant] })
      const handle = await engine.start(tolerant, { id: "i" })
      await engine.skip("3s")
      gate.open()
      do await engine.settle()
      while (!(await stepsSeen(handle)).includes("word waiting"))
      await engine.crash()
      await engine.sendEvent("i", "word")
      expect(await handle.result()).toBe("A")
    })
  })
}
