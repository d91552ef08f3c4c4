import { describe, expect, it } from "vitest"
import * as z from "zod"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { Logger } from "../../../ports/host.ts"
import { crashAtEveryWrite, unlessEnded } from "../crash-at-every-write.ts"
import { Gate } from "../gate.ts"
import { entriesSeen, stepsSeen, type OpenBed } from "../scenario-bed.ts"

export function continueStories(open: OpenBed): void {
  describe("continueAsNew", () => {
    /** Counts down, one step in each run. */
    const counting = workflow("counting", async (ctx: Context, left: number): Promise<string> => {
      await ctx.do("work", () => left)
      if (left > 0) return ctx.continueAsNew(left - 1)
      return `done in run ${ctx.instance.run}`
    })

    it("is the next run of the same instance, with another input and an empty journal", async () => {
      const engine = await open({ workflows: [counting] })
      const handle = await engine.start(counting, { id: "i", input: 3, tags: ["red"] })
      expect(await handle.result()).toBe("done in run 4")
      expect(await handle.describe()).toMatchObject({ id: "i", run: 4, input: 0, tags: ["red"], status: "completed" })
      expect(await stepsSeen(handle)).toEqual(["work completed"])
      for (const run of [1, 2, 3]) expect(await entriesSeen(handle, run)).toEqual(["run.started", "step.started", "step.completed", "run.continued"])
      expect((await handle.history({ run: 2 })).entries[0]).toMatchObject({ run: 2, data: { run: 2, value: 2 } })
      const positions = (await handle.history()).entries.map(({ position }) => position)
      expect(positions).toEqual(positions.map((_, index) => index + 1))
      expect(await engine.list({ tag: "red" })).toMatchObject({ instances: [{ id: "i", run: 4 }] })
    })

    it("gives its result to whoever waited since the first run, also over a crash at every write", async () => {
      await crashAtEveryWrite(async (doom) => {
        const engine = await open({ workflows: [counting] })
        const handle = await engine.start(counting, { id: "i", input: 2 })
        doom.arm(engine)
        const result = handle.result()
        await doom.rest()
        expect(await result).toBe("done in run 3")
        const { entries } = await handle.history({ limit: 1_000 })
        expect(entries.filter(({ type }) => type === "run.started").map(({ run, data }) => [run, data["value"]])).toEqual([
          [1, 2],
          [2, 1],
          [3, 0],
        ])
        expect(entries.filter(({ type }) => type === "step.completed")).toHaveLength(3)
        await engine.close()
      })
    })

    it("keeps events that nobody took, in order: those in the journal, then those in the inbox", async () => {
      const taking = workflow("taking", async (ctx: Context, before: readonly string[]): Promise<readonly string[]> => {
        await ctx.waitForEvent("go")
        const words = [...before, (await ctx.waitForEvent("word")) as string]
        if (words.length < 4) return ctx.continueAsNew(words)
        return words
      })
      await crashAtEveryWrite(async (doom) => {
        const engine = await open({ workflows: [taking] })
        const handle = await engine.start(taking, { id: "i", input: [] })
        await engine.settle()
        for (const word of ["a", "b", "c"]) await engine.sendEvent("i", "word", word, { eventId: word })
        doom.arm(engine)
        for (let i = 0; i < 4; i++) {
          // An event whose answer a crash lost is sent twice, and the second one makes a run that need not wait.
          await doom.insist(() => handle.sendEvent("go").catch(unlessEnded))
          // The event id is known already, in the run that received it or as one that was kept.
          if (i === 0) await doom.insist(() => handle.sendEvent("word", "c", { eventId: "c" }))
          if (i === 2) await doom.insist(() => handle.sendEvent("word", "d"))
        }
        expect(await handle.result()).toEqual(["a", "b", "c", "d"])
        await engine.close()
      })
    })

    it("receives an event once that is sent again, with its id, to a later run", async () => {
      const listening = workflow("listening", async (ctx: Context, heard: readonly string[]): Promise<readonly string[]> => {
        const words = [...heard, (await ctx.waitForEvent("word")) as string]
        return words.at(-1) === "end" ? words : ctx.continueAsNew(words)
      })
      await crashAtEveryWrite(async (doom) => {
        const engine = await open({ workflows: [listening] })
        const handle = await engine.start(listening, { id: "i", input: [] })
        await engine.settle()
        doom.arm(engine)
        for (const word of ["a", "a", "b", "a", "b", "c", "a", "c"]) await doom.insist(() => handle.sendEvent("word", word, { eventId: word }))
        await doom.insist(() => handle.sendEvent("word", "end").catch(unlessEnded))
        expect(await handle.result()).toEqual(["a", "b", "c", "end"])
        await engine.close()
      })
    })

    it("forgets event ids where it is restarted from the beginning: what was sent to it may be sent again", async () => {
      const listening = workflow("listening", async (ctx: Context, heard: readonly string[]): Promise<readonly string[]> => {
        const words = [...heard, (await ctx.waitForEvent("word")) as string]
        return words.length === 2 ? words : ctx.continueAsNew(words)
      })
      const engine = await open({ workflows: [listening] })
      const handle = await engine.start(listening, { id: "i", input: [] })
      await handle.sendEvent("word", "a", { eventId: "a" })
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ run: 2, status: "waiting" })
      await handle.restart()
      await engine.settle()
      await handle.sendEvent("word", "a", { eventId: "a" })
      expect(await handle.result()).toEqual(["a", "a"])
    })

    it("remembers all event ids of the last run, and of those before it the newest", async () => {
      const many = workflow("many", async (ctx: Context, rounds: number): Promise<number> => {
        const counts = { 3: 500, 2: 10, 1: 10, 0: 1 } as Record<number, number>
        for (let i = 0; i < counts[rounds]!; i++) await ctx.waitForEvent("word", { type: "word" })
        return rounds === 0 ? ctx.instance.run : ctx.continueAsNew(rounds - 1)
      })
      const engine = await open({ workflows: [many] })
      const handle = await engine.start(many, { id: "i", input: 3 })
      const send = async (from: number, to: number) => {
        for (let i = from; i < to; i++) await handle.sendEvent("word", i, { eventId: `id ${i}` })
        await engine.settle()
      }
      await send(0, 500)
      await send(0, 500)
      expect(await handle.describe()).toMatchObject({ run: 2, status: "waiting" })
      await send(500, 520)
      await send(400, 520)
      expect(await handle.describe()).toMatchObject({ run: 4, status: "waiting" })
      const starts = await Promise.all([1, 2, 3, 4].map((run) => handle.history({ run, limit: 1 })))
      expect(starts.map(({ entries }) => (entries[0]?.data["eventIds"] as readonly string[] | undefined)?.length)).toEqual([undefined, 500, 256, 256])
      await send(0, 1)
      expect(await handle.result()).toBe(4)
    }, 120_000)

    it("gives up what is under way: steps are told, and nothing of them comes into the next run", async () => {
      const told: string[] = []
      const gate = new Gate()
      const flow = workflow("flow", async (ctx: Context, round: number): Promise<string> => {
        if (round === 2) return `slept and waited: ${(await ctx.waitForEvent("word")) as string}`
        const slow = ctx.do("slow", ({ signal }) => {
          signal.addEventListener("abort", () => told.push("slow"))
          return gate.passed
        })
        void Promise.all([slow, ctx.sleep("nap", "1m"), ctx.waitForEvent("word")]).then(() => told.push("went on"))
        await ctx.do("quick", () => 1)
        return ctx.continueAsNew(2)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: 1 })
      await engine.settle()
      expect(told).toEqual(["slow"])
      gate.open()
      await engine.skip("5m")
      await engine.sendEvent("i", "word", "hello")
      expect(await handle.result()).toBe("slept and waited: hello")
      expect(told).toEqual(["slow"])
      expect(await stepsSeen(handle)).toEqual(["word completed"])
    })

    it("ends the run at once: nothing that the code does after it counts", async () => {
      const flow = workflow("flow", async (ctx: Context, round: number) => {
        if (round === 2) return "second"
        void ctx.continueAsNew(2)
        void ctx.continueAsNew(3)
        await ctx.do("late", () => "never")
        throw new Error("never")
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: 1 })
      expect(await handle.result()).toBe("second")
    })

    it("checks the input by the schema of the workflow, and throws where the code can catch it", async () => {
      const seen: unknown[] = []
      const flow = workflow("flow", { input: z.object({ n: z.coerce.number() }) }, async (ctx, { n }) => {
        if (n === 2) return `round ${n}`
        await ctx.continueAsNew({ m: 1 } as never).catch((error: unknown) => seen.push(error))
        return ctx.continueAsNew({ n: "2" })
      })
      const plain = workflow("plain", async (ctx: Context, n: unknown) =>
        n === undefined ? "nothing" : ctx.continueAsNew(() => 1).catch((error: unknown) => (seen.push(error), ctx.continueAsNew())),
      )
      const engine = await open({ workflows: [flow, plain] })
      expect(await (await engine.start(flow, { input: { n: 1 } })).result()).toBe("round 2")
      expect(await (await engine.start(plain, { input: 1 })).result()).toBe("nothing")
      expect(seen).toMatchObject([{ code: "INVALID_INPUT" }, { code: "UNSERIALIZABLE" }])
    })

    it("is not for steps, whose functions run outside the order of the workflow", async () => {
      const flow = workflow("flow", async (ctx: Context) => {
        const errors = await Promise.all(
          [() => ctx.continueAsNew(1), () => ctx.patched("p")].map((use) =>
            ctx.do("step", use, { retry: { maxAttempts: 1 } }).catch((error: unknown) => error),
          ),
        )
        return errors.map((error) => ((error as Error).cause as { code?: string }).code)
      })
      const engine = await open({ workflows: [flow] })
      expect(await (await engine.start(flow)).result()).toEqual(["CTX_IN_STEP", "CTX_IN_STEP"])
    })

    it("has random numbers, keys and a start of its own, and the time goes on", async () => {
      interface Seen {
        readonly random: number
        readonly key: string
        readonly startedAt: number
      }
      const flow = workflow("flow", async (ctx: Context, before: readonly Seen[]): Promise<readonly Seen[]> => {
        const random = ctx.random()
        await ctx.sleep("nap", "1h")
        const key = await ctx.do("key", ({ idempotencyKey }) => idempotencyKey)
        const seen = [...before, { random, key, startedAt: ctx.startTime.getTime() }]
        return seen.length === 2 ? seen : ctx.continueAsNew(seen)
      })
      const engine = await open({ workflows: [flow], startAt: 0 })
      const handle = await engine.start(flow, { id: "i", input: [] })
      await engine.skip("2h")
      const [first, second] = await handle.result()
      expect(first?.random).not.toBe(second?.random)
      expect(first?.key).not.toBe(second?.key)
      expect([first?.startedAt, second?.startedAt]).toEqual([0, 3_600_000])
    })

    it("keeps the timeout of the whole instance", async () => {
      const flow = workflow("flow", async (ctx: Context, round: number): Promise<never> => {
        await ctx.sleep("nap", "20m")
        return ctx.continueAsNew(round + 1)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: 1, timeout: "1h" })
      await engine.skip("59m")
      expect(await handle.describe()).toMatchObject({ run: 3, status: "sleeping" })
      await engine.skip("1m")
      await expect(handle.result()).rejects.toMatchObject({ code: "INSTANCE_TIMEOUT" })
    })

    it("after a cancel ends as cancelled, and what was completed is undone", async () => {
      const undone: string[] = []
      const flow = workflow("flow", async (ctx: Context, round: number): Promise<never> => {
        await ctx.do("a", () => `a of round ${round}`, { rollback: (result) => void undone.push(result) })
        await ctx.sleep("nap", "1d").catch(() => undefined)
        return ctx.continueAsNew(round + 1)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: 1 })
      await engine.skip("1d")
      await handle.cancel()
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ run: 2, status: "cancelled" })
      expect(undone).toEqual(["a of round 2"])
    })

    it("goes together with pause, terminate and restart", async () => {
      const flow = workflow("flow", async (ctx: Context, round: number): Promise<never> => {
        await ctx.do("work", () => round)
        await ctx.waitForEvent("next")
        return ctx.continueAsNew(round + 1)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: 1 })
      await engine.sendEvent("i", "next")
      await handle.pause()
      await engine.settle()
      await engine.sendEvent("i", "next")
      expect(await handle.describe()).toMatchObject({ run: 2, status: "paused" })
      await handle.resume()
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ run: 3, status: "waiting" })
      await handle.restart({ from: "next" })
      await engine.settle()
      expect(await handle.describe()).toMatchObject({ run: 4, status: "waiting", input: 3 })
      await engine.sendEvent("i", "next")
      expect(await handle.describe()).toMatchObject({ run: 5, input: 4 })
      expect(await handle.terminate()).toMatchObject({ accepted: true, status: "terminated" })
    })

    it("a thousand times does not slow it down: only the last run is read, also where an event waits since the first", async () => {
      const rounds = 1_000
      const looping = workflow("looping", async (ctx: Context, left: number): Promise<string> => {
        await ctx.do("work", () => left)
        if (left > 0) return ctx.continueAsNew(left - 1)
        return (await ctx.waitForEvent("word")) as string
      })
      const engine = await open({ workflows: [looping] })
      const { journal } = engine.current.components.store
      const readJournal = journal.readJournal.bind(journal)
      let rowsMax = 0
      journal.readJournal = async (id, from) => {
        const rows = await readJournal(id, from)
        rowsMax = Math.max(rowsMax, rows.length)
        return rows
      }
      const handle = await engine.start(looping, { id: "i", input: rounds })
      await handle.sendEvent("word", "from the beginning")
      await engine.settle()
      expect(await handle.result()).toBe("from the beginning")
      expect(rowsMax).toBeLessThan(8)
      expect(await handle.describe()).toMatchObject({ run: rounds + 1 })
      expect((await handle.history({ run: 500 })).entries.every(({ run }) => run === 500)).toBe(true)
    }, 240_000)
  })

  describe("a journal that grows", () => {
    it("is warned of from half of the limit on, in the log and by why, whatever it consists of", async () => {
      const warnings: string[] = []
      const silent = () => undefined
      const log: Logger = { debug: silent, info: silent, error: silent, warn: (message) => void warnings.push(message) }
      const flow = workflow("flow", async (ctx: Context) => {
        for (let i = 0; i < 3; i++) {
          await ctx.do("work", () => i)
          await ctx.sleep("nap", "1s")
        }
        await ctx.do("outer", ({ step }) => step.do("inner", () => 1))
        await ctx.do("last", () => 1)
        return ctx.do("one too many", () => 1)
      })
      const engine = await open({ workflows: [flow], limits: { stepsMax: 10 }, log })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      expect(warnings).toEqual([])
      expect((await handle.why()).because.join()).not.toContain("continueAsNew")
      await engine.skip("2s")
      expect(warnings.map((warning) => /has asked for (\d+) steps of at most 10.*continueAsNew/.exec(warning)?.[1])).toEqual(["5", "6"])
      await engine.crash()
      expect((await handle.why()).because).toEqual([
        expect.stringContaining('sleep "nap#3"'),
        "its run 1 has asked for 6 steps of at most 10, and its journal grows; end the run with ctx.continueAsNew",
      ])
      expect(warnings).toHaveLength(2)
      await engine.skip("1m")
      expect(warnings.slice(2)).toEqual([7, 8, 9, 10].map((asked) => expect.stringContaining(`has asked for ${asked} steps`) as string))
      expect(await handle.result()).toBe(1)
    })
  })
}
