import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { Store, StoreProvider } from "../../../ports/store.ts"
import { overriding } from "../../../engine/method-overrides.ts"
import { Gate } from "../gate.ts"
import type { OpenBed } from "../scenario-bed.ts"
import { Turnstile } from "../turnstile.ts"

interface Job {
  readonly key: string
}

const countingLooks = (provider: StoreProvider, onLook: () => void): StoreProvider => ({
  name: provider.name,
  open: async (context) => {
    const store = await provider.open(context)
    const { journal } = store
    const claim: typeof journal.claim = (request) => {
      onLook()
      return journal.claim(request)
    }
    const nextDueAt: typeof journal.nextDueAt = (offers) => {
      onLook()
      return journal.nextDueAt(offers)
    }
    return overriding<Store>(store, { journal: overriding(journal, { claim, nextDueAt }) })
  },
})

export function slotStories(open: OpenBed): void {
  const job = (key: string, id: string) => ({ id, input: { key } })

  describe("concurrency", () => {
    it("a burst on a key never exceeds its limit, and drains without polling", async () => {
      const door = new Turnstile(5)
      const flow = workflow("flow", { concurrency: { limit: 5, key: (input) => input.key } }, async (ctx: Context, input: Job) => {
        await ctx.do("one", () => door.pass(input.key))
        await ctx.do("two", () => door.pass(input.key))
      })
      let looks = 0
      const engine = await open({ workflows: [flow], wrap: (store) => countingLooks(store, () => looks++) })
      const burst = 300
      await engine.startBatch(Array.from({ length: burst }, (_, i) => ({ workflow: flow, ...job("a", `i${i}`) })))
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: burst })
      expect([door.most("a"), door.passed]).toEqual([5, 2 * burst])
      looks = 0
      await engine.skip("1d")
      expect(looks).toBe(0)
    })

    it("the others are queued meanwhile, and why names what they wait for, who has it and how many are before", async () => {
      const gate = new Gate()
      const flow = workflow("flow", { concurrency: [3, { limit: 1, key: (input) => input.key }] }, (ctx: Context, _input: Job) =>
        ctx.do("work", () => gate.passed),
      )
      const engine = await open({ workflows: [flow] })
      for (const id of ["a1", "a2", "a3"]) await engine.start(flow, job("a", id))
      for (const id of ["b1", "c1", "d1"]) await engine.start(flow, job(id, id))
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ running: 3, queued: 3 })
      expect(await engine.get("a3").why()).toEqual({
        status: "queued",
        because: ['it waits for a slot: the limit of 1 at a time of workflow "flow", key "a" is taken by "a1"; 1 before it'],
      })
      expect((await engine.get("d1").why()).because).toEqual([
        'it waits for a slot: the limit of 3 at a time of workflow "flow" is taken by "a1", "b1", "c1"; it is the next',
      ])
      gate.open()
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 6 })
    })

    it("a burst on one key does not hold up another, although both share a wider limit", async () => {
      const order: string[] = []
      const flow = workflow("flow", { concurrency: [2, { limit: 1, key: (input) => input.key }] }, (ctx: Context, input: Job) =>
        ctx.do("work", async () => {
          order.push(input.key)
          await Promise.resolve()
        }),
      )
      const engine = await open({ workflows: [flow] })
      await engine.startBatch([...Array.from({ length: 50 }, () => "a"), "b"].map((key, i) => ({ workflow: flow, ...job(key, `i${i}`) })))
      await engine.settle()
      expect(order).toHaveLength(51)
      expect(order.indexOf("b")).toBeLessThan(4)
    })

    it("a slot is released while the instance sleeps or waits, and taken again when it goes on", async () => {
      const door = new Turnstile()
      const flow = workflow("flow", { concurrency: 1 }, async (ctx: Context, _input: Job) => {
        await ctx.do("before", () => door.pass(""))
        await ctx.sleep("nap", "1h")
        await ctx.do("between", () => door.pass(""))
        await ctx.waitForEvent("go")
        await ctx.do("after", () => door.pass(""))
      })
      const engine = await open({ workflows: [flow] })
      for (let i = 0; i < 4; i++) await engine.start(flow, job("", `i${i}`))
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ sleeping: 4 })
      await engine.skip("1h")
      expect(await engine.count({}, "status")).toEqual({ waiting: 4 })
      expect([door.passed, door.most("")]).toEqual([8, 1])
      for (let i = 0; i < 4; i++) await engine.get(`i${i}`).sendEvent("go")
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 4 })
      expect([door.passed, door.most("")]).toEqual([12, 1])
    })

    it("also while a step waits to be tried again", async () => {
      const order: string[] = []
      const flow = workflow("flow", { concurrency: 1 }, (ctx: Context, input: Job) =>
        ctx.do(
          "flaky",
          ({ attempt }) => {
            order.push(`${input.key}${attempt}`)
            if (attempt === 1) throw new Error("no network")
          },
          { retry: { initialInterval: "1m", jitter: 0 } },
        ),
      )
      const engine = await open({ workflows: [flow] })
      for (const key of ["a", "b"]) await engine.start(flow, job(key, key))
      await engine.skip("1m")
      expect(order).toEqual(["a1", "b1", "a2", "b2"])
    })

    it("one that wakes up while its slot is taken says so, and its status stays", async () => {
      const gate = new Gate()
      const flow = workflow("flow", { concurrency: 1 }, async (ctx: Context, input: Job) => {
        if (input.key === "sleeps") await ctx.sleep("nap", "1h")
        await ctx.do("work", () => gate.passed)
      })
      const engine = await open({ workflows: [flow] })
      const sleeper = await engine.start(flow, job("sleeps", "s"))
      await engine.settle()
      await engine.start(flow, job("", "w"))
      await engine.skip("2h")
      expect(await sleeper.why()).toMatchObject({
        status: "sleeping",
        because: [expect.stringContaining('is taken by "w"; it is the next') as string, expect.stringContaining('sleep "nap"') as string],
      })
      gate.open()
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 2 })
    })

    it("with hold: true it is kept over sleeps and waits, until the end", async () => {
      const flow = workflow("flow", { concurrency: { limit: 1, hold: true } }, async (ctx: Context, _input: Job) => {
        await ctx.sleep("nap", "1h")
        await ctx.waitForEvent("go")
      })
      const engine = await open({ workflows: [flow] })
      await engine.start(flow, job("", "a"))
      await engine.start(flow, job("", "b"))
      await engine.skip("2h")
      expect([await engine.get("a").status(), await engine.get("b").status()]).toEqual(["waiting", "queued"])
      await engine.crash()
      expect([await engine.get("a").status(), await engine.get("b").status()]).toEqual(["waiting", "queued"])
      await engine.sendEvent("a", "go")
      expect([await engine.get("a").status(), await engine.get("b").status()]).toEqual(["completed", "sleeping"])
    })

    it("slots outlive crashes and restarts of the engine, and none is lost by them", async () => {
      let gate = new Gate()
      const door = new Turnstile()
      const flow = workflow("flow", { concurrency: 2 }, (ctx: Context, _input: Job) =>
        ctx.do("work", async () => {
          await gate.passed
          await door.pass("")
        }),
      )
      const engine = await open({ workflows: [flow], maxRecoveries: 100 })
      for (let i = 0; i < 6; i++) await engine.start(flow, job("", `i${i}`))
      await engine.settle()
      const running = async () => (await engine.list({ status: "running" })).instances.map(({ id }) => id).toSorted()
      const before = await running()
      expect(before).toHaveLength(2)
      for (let crash = 0; crash < 5; crash++) {
        gate = new Gate()
        await engine.crash()
        expect(await running()).toEqual(before)
      }
      await engine.close()
      gate = new Gate()
      await engine.open()
      await engine.settle()
      expect(await running()).toEqual(before)
      gate.open()
      await engine.settle()
      expect(await engine.count({}, "status")).toEqual({ completed: 6 })
      expect(door.most("")).toBe(2)
    })

    it.each(["fails", "is cancelled", "is terminated", "is paused", "stalls", "is restarted"] as const)(
      "an instance that %s lets the next one in",
      async (way) => {
        const flow = workflow("flow", { concurrency: 1 }, async (ctx: Context, input: Job) => {
          await ctx.do("begin", () => undefined)
          if (input.key === "fails") throw new Error("broken")
          if (input.key === "stalls") await new Promise(() => undefined)
          if (input.key !== "next") await ctx.do("work", () => new Promise<never>(() => undefined), { timeout: "1m", retry: { maxAttempts: 1 } })
        })
        const engine = await open({ workflows: [flow] })
        const first = await engine.start(flow, job(way, "a"))
        await engine.settle()
        const next = await engine.start(flow, job("next", "b"))
        await engine.settle()
        if (way === "is cancelled") await first.cancel()
        if (way === "is terminated") await first.terminate()
        if (way === "is paused") await first.pause()
        if (way === "is restarted") await first.restart()
        await engine.skip("1m")
        expect(await next.status()).toBe("completed")
      },
    )

    it("a queued instance that is cancelled, terminated or paused leaves the queue; resumed, it joins the end of the queue", async () => {
      const gate = new Gate()
      const order: string[] = []
      const flow = workflow("flow", { concurrency: 1 }, (ctx: Context, input: Job) =>
        ctx.do("work", async () => {
          order.push(input.key)
          await gate.passed
        }),
      )
      const engine = await open({ workflows: [flow] })
      for (const id of ["a", "b", "c", "d", "e"]) await engine.start(flow, job(id, id))
      await engine.settle()
      await engine.get("b").pause()
      await engine.get("c").cancel()
      await engine.get("d").terminate()
      await engine.settle()
      expect([await engine.get("b").status(), await engine.get("c").status(), await engine.get("d").status()]).toEqual(["paused", "cancelled", "terminated"])
      await engine.get("b").resume()
      await engine.settle()
      expect(await engine.get("b").status()).toBe("queued")
      expect((await engine.get("e").why()).because[0]).toContain("it is the next")
      gate.open()
      await engine.settle()
      expect(order).toEqual(["a", "e", "b"])
    })

    it("a control that changes nothing keeps the instance's position in the queue, and events wait for the slot", async () => {
      const gate = new Gate()
      const flow = workflow("flow", { concurrency: 1 }, async (ctx: Context<{ word: string }>, _input: Job) => {
        await ctx.do("work", () => gate.passed)
        return ctx.waitForEvent("word", { timeout: "1s", default: "none" })
      })
      const engine = await open({ workflows: [flow] })
      for (const id of ["a", "b", "c"]) await engine.start(flow, job("", id))
      await engine.settle()
      await engine.sendEvent("b", "word", "early")
      await engine.get("b").resume()
      await engine.settle()
      expect((await engine.get("b").why()).because[0]).toContain("it is the next")
      gate.open()
      await engine.skip("1m")
      expect(await engine.get("b").result()).toBe("early")
    })

    it("the timeout of an instance that never gets its slot ends it", async () => {
      const gate = new Gate()
      const flow = workflow("flow", { concurrency: 1, timeout: "1h" }, (ctx: Context, _input: Job) => ctx.do("work", () => gate.passed))
      const engine = await open({ workflows: [flow] })
      await engine.start(flow, { ...job("", "a"), timeout: "2d" })
      const late = await engine.start(flow, job("", "b"))
      await engine.skip("59m")
      expect(await late.status()).toBe("queued")
      await engine.skip("1m")
      expect(await late.status()).toBe("failed")
      await expect(late.result()).rejects.toMatchObject({ code: "INSTANCE_TIMEOUT" })
    })

    it("the timeout also ends a fork, a scheduled instance, and an instance started by a client without the code", async () => {
      const gate = new Gate()
      const flow = workflow("flow", { version: "2", concurrency: 1 }, (ctx: Context, _input: Job) => ctx.do("work", () => gate.passed))
      const engine = await open({ workflows: [] })
      await engine.start("flow", { version: "2", allowUnknown: true, ...job("", "holder"), timeout: "2d" })
      await engine.start("flow", { version: "2", allowUnknown: true, ...job("", "stranger"), timeout: "30m" })
      await engine.crash({ workflows: [flow] })
      await engine.get("stranger").fork({ id: "fork" })
      await engine.schedules.create("hourly", { workflow: flow, input: { key: "" }, every: "1h", timeout: "30m" })
      await engine.skip("90m")
      const { instances } = await engine.list({})
      const statuses = instances.map(({ id, status }) => `${id.split(":")[0]} ${status}`)
      expect(statuses.toSorted()).toEqual(["fork failed", "holder running", "hourly failed", "stranger failed"])
    })

    it("one that is cancelled while it waits to go on cleans up as soon as it has a slot, before the others; at the end of the grace it ends without", async () => {
      let gate = new Gate()
      const order: string[] = []
      const flow = workflow("flow", { concurrency: 1 }, async (ctx: Context, input: Job) => {
        try {
          if (input.key === "sleeper") await ctx.sleep("nap", "1h")
        } finally {
          await ctx.do("work", async () => {
            order.push(ctx.instance.id)
            await gate.passed
          })
        }
      })
      const engine = await open({ workflows: [flow] })
      for (const id of ["s1", "s2"]) await engine.start(flow, job("sleeper", id))
      await engine.settle()
      for (const id of ["a", "b"]) await engine.start(flow, job("", id))
      await engine.settle()
      await engine.get("s1").cancel()
      await engine.get("s2").cancel()
      await engine.skip("10s")
      expect((await engine.get("s1").describe()).phase).toBe("cancelling")
      gate.open()
      gate = new Gate()
      await engine.settle()
      expect(order).toEqual(["a", "s1"])
      await engine.skip("20s")
      expect(await engine.get("s2").status()).toBe("cancelled")
      gate.open()
      await engine.settle()
      expect(order).toEqual(["a", "s1", "b"])
    })

    it("a delayed start asks for a slot when its time has come", async () => {
      const gate = new Gate()
      const flow = workflow("flow", { concurrency: 1 }, (ctx: Context, input: Job) => ctx.do("work", () => (input.key === "now" ? gate.passed : undefined)))
      const engine = await open({ workflows: [flow] })
      const later = await engine.start(flow, { ...job("later", "l"), delay: "1h" })
      await engine.sendEvent("l", "word")
      await engine.start(flow, job("now", "n"))
      await engine.skip("1h")
      expect([await engine.get("n").status(), await later.status()]).toEqual(["running", "queued"])
      gate.open()
      await engine.settle()
      expect(await later.status()).toBe("completed")
    })

    it("children, restarts and forks queue for slots like any other instance", async () => {
      const door = new Turnstile()
      const child = workflow("child", { concurrency: 1 }, (ctx: Context, _input: Job) => ctx.do("work", () => door.pass("")))
      const parent = workflow("parent", async (ctx: Context) => {
        const children = await Promise.all([1, 2, 3].map((n) => ctx.startChild(child, { id: `c${n}`, input: { key: "" } })))
        for (const one of children) await one.result()
      })
      const engine = await open({ workflows: [child, parent] })
      await (await engine.start(parent)).result()
      await engine.get("c1").restart()
      await engine.get("c2").restart({ from: "work" })
      await engine.get("c3").fork({ id: "f", from: "work" })
      await engine.settle()
      expect(await engine.count({ workflow: "child" }, "status")).toEqual({ completed: 4 })
      expect([door.passed, door.most("")]).toEqual([6, 1])
    })

    it("instances started by a schedule queue for slots too", async () => {
      const door = new Turnstile()
      const flow = workflow("flow", { concurrency: 1 }, (ctx: Context, _input: Job) => ctx.do("work", () => door.pass("")))
      const engine = await open({ workflows: [flow] })
      for (const id of ["a", "b", "c"]) await engine.schedules.create(id, { workflow: flow, input: { key: "" }, every: "1h", overlap: "allow" })
      await engine.skip("2h")
      expect([door.passed, door.most("")]).toEqual([6, 1])
    })

    it("an instance started by a client without the workflow's code queues for its slot too", async () => {
      const door = new Turnstile()
      const flow = workflow("flow", { version: "2", concurrency: { limit: 1, key: (input) => input.key } }, (ctx: Context, input: Job) =>
        ctx.do("work", () => door.pass(input.key)),
      )
      const engine = await open({ workflows: [] })
      for (let i = 0; i < 5; i++) await engine.start("flow", { version: "2", allowUnknown: true, ...job("a", `i${i}`) })
      await engine.crash({ workflows: [flow] })
      expect(await engine.count({}, "status")).toEqual({ completed: 5 })
      expect(door.most("a")).toBe(1)
    })
  })
}
