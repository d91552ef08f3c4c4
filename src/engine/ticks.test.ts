import { type Context, PerdureError, type TransactionClient, workflow } from "perdure"
import { createHttpApp } from "perdure/http"
import { createTestEngine, memory } from "perdure/testing"
import { beforeEach, describe, expect, it } from "vitest"
import { SimulatedHost } from "../hosts/simulated/simulated-host.ts"
import type { Turn } from "../ports/journal-store.ts"
import type { StoreProvider } from "../ports/store.ts"
import { overriding } from "./method-overrides.ts"
import { Gate } from "../testing/scenarios/gate.ts"
import { Engine } from "./engine.ts"

let done: string[] = []

const chain = workflow("chain", async (ctx: Context<{ go: number }>) => {
  for (let index = 1; index <= 5; index++) await ctx.do(`step-${index}`, () => done.push(`${ctx.instance.id}/${index}`))
  await ctx.sleep("nap", "5s")
  await ctx.waitForEvent("go")
  return "done"
})

const children = workflow("children", async (ctx: Context) => {
  const started = await Promise.all(["x", "y"].map((name) => ctx.startChild(chain, { id: `${ctx.instance.id}-${name}`, input: undefined })))
  return Promise.all(started.map((child) => child.result()))
})

const open = () => createTestEngine({ workflows: [chain, children], execute: "ticks" })

beforeEach(() => {
  done = []
})

describe("an engine that executes in ticks", () => {
  it("does nothing by itself, and executes all due work in a tick", async () => {
    await using engine = await open()
    const handle = await engine.start(chain, { id: "a" })
    await engine.skip("1h")
    expect([await handle.status(), done]).toEqual(["queued", []])
    expect(await engine.current.tick()).toEqual({ processed: 1, nextDueAt: engine.now() + 5_000, more: false })
    expect([await handle.status(), done.length]).toEqual(["sleeping", 5])
    expect(await engine.current.tick()).toEqual({ processed: 0, nextDueAt: engine.now() + 5_000, more: false })
    await engine.skip("5s")
    expect(await engine.current.tick()).toEqual({ processed: 1, more: false })
    expect(await handle.status()).toBe("waiting")
    await engine.sendEvent("a", "go", 1)
    expect(await engine.current.tick()).toEqual({ processed: 1, more: false })
    expect(await handle.result()).toBe("done")
    expect(done).toHaveLength(5)
  })

  it("says what is due next, and whether more is due already", async () => {
    await using engine = await open()
    const tick = (bounds = {}) => engine.current.tick(bounds)
    expect(await tick()).toEqual({ processed: 0, more: false })
    await engine.start(chain, { id: "a" })
    await engine.start(chain, { id: "b" })
    expect(await tick({ maxInstances: 1 })).toEqual({ processed: 1, nextDueAt: engine.now(), more: true })
    expect(await tick({ maxInstances: 1 })).toEqual({ processed: 1, nextDueAt: engine.now() + 5_000, more: false })
    await engine.skip("5s")
    expect(await tick()).toEqual({ processed: 2, more: false })
    await engine.current.schedules.create("hourly", { workflow: chain, every: "1h" })
    expect((await tick()).nextDueAt).toBeGreaterThan(engine.now())
  })

  it("does not ask for another tick at once when it can do nothing about what is due", async () => {
    const store = memory()
    const host = new SimulatedHost({})
    const begun = new Gate()
    const ended = new Gate()
    const slow = workflow("slow", (ctx: Context) =>
      ctx.do("slow", async () => {
        begun.open()
        await ended.passed
      }),
    )
    const open = (execute: "always" | "ticks") => Engine.open({ host, store, workflows: [slow], options: { execute } })
    const [worker, ticking] = await Promise.all([open("always"), open("ticks")])
    await worker.start(slow, { id: "a" })
    await begun.passed
    // The worker may die, and the end of its lease is when a tick would notice that.
    expect(await ticking.tick()).toEqual({ processed: 0, nextDueAt: host.now() + 30_000, more: false })
    ended.open()
    await Promise.all([worker.close(), ticking.close()])
  })

  it("says what it did although the store then fails to say what is due next", async () => {
    let isFailing = () => false
    const store: StoreProvider = {
      name: "failing",
      open: async (context) => {
        const opened = await memory().open(context)
        const nextDueAt: typeof opened.journal.nextDueAt = (offers) =>
          isFailing() ? Promise.reject(new PerdureError("STORE_FAILED", "no answer")) : opened.journal.nextDueAt(offers)
        return overriding(opened, { journal: overriding(opened.journal, { nextDueAt }) })
      },
    }
    await using engine = await createTestEngine({ workflows: [chain], store, execute: "ticks" })
    await engine.start(chain, { id: "a" })
    isFailing = () => done.length === 5
    expect(await engine.current.tick()).toEqual({ processed: 1, more: true })
    await expect(engine.current.tick()).rejects.toThrow("no answer")
    isFailing = () => false
    expect(await engine.current.tick()).toEqual({ processed: 0, nextDueAt: engine.now() + 5_000, more: false })
  })

  it("rings onEnqueued for each commit that makes an instance runnable; a dispatcher that missed the calls goes on by the answers of tick alone", async () => {
    const rung: string[] = []
    const onEnqueued = ({ workflow: name, id, reason }: { workflow: string; id: string; reason: string }) => rung.push(`${name} ${id} ${reason}`)
    await using engine = await createTestEngine({ workflows: [chain, children], execute: "ticks", onEnqueued })
    await engine.start(chain, { id: "a" })
    await engine.current.startBatch([{ workflow: chain, id: "b" }])
    await engine.settle()
    expect(rung).toEqual(["chain a start", "chain b start"])
    rung.length = 0
    // Nobody hears these.
    for (let next = await engine.current.tick(); next.nextDueAt !== undefined; next = await engine.current.tick())
      if (!next.more) await engine.skip(next.nextDueAt - engine.now())
    expect(done).toHaveLength(10)
    rung.length = 0
    await engine.sendEvent("a", "go", 1)
    await engine.current.pause("b")
    await engine.current.resume("b")
    await engine.settle()
    expect(rung).toContain("chain a event")
    expect(rung.filter((call) => call.startsWith("chain b"))).not.toEqual([])
  })

  it("rings onEnqueued for the parent of a child that ends, for the child of a parent that is over, and for a control of an idle instance", async () => {
    const rung: string[] = []
    const onEnqueued = ({ workflow: name, id, reason }: { workflow: string; id: string; reason: string }) => rung.push(`${name} ${id} ${reason}`)
    const child = workflow("child", (ctx: Context<{ end: undefined }>) => ctx.waitForEvent("end"))
    const parent = workflow("parent", async (ctx: Context<{ end: undefined }>) => {
      const [first] = await Promise.all(["first", "second"].map((id) => ctx.startChild(child, { id })))
      await first!.result()
      await ctx.waitForEvent("end")
    })
    await using engine = await createTestEngine({ workflows: [parent, child], execute: "ticks", onEnqueued })
    const handle = await engine.start(parent, { id: "p" })
    await engine.current.tick()
    await engine.sendEvent("first", "end")
    await engine.settle()
    rung.length = 0
    await engine.current.tick()
    expect(rung).toEqual(["parent p child"])
    await handle.pause()
    await engine.current.tick()
    rung.length = 0
    await handle.cancel()
    await engine.settle()
    expect(rung).toEqual(["parent p control"])
    rung.length = 0
    await engine.current.tick()
    await engine.settle()
    expect([await handle.status(), rung]).toEqual(["cancelled", ["child second control"]])
  })

  it("logs what onEnqueued throws, and the start is answered all the same", async () => {
    const onEnqueued = () => Promise.reject(new Error("the bell is broken"))
    await using engine = await createTestEngine({ workflows: [chain], execute: "ticks", onEnqueued })
    expect((await engine.start(chain, { id: "a" })).id).toBe("a")
    await engine.settle()
  })

  it("works on at most maxInstances instances, including those that it starts", async () => {
    await using engine = await open()
    for (const id of ["a", "b", "c", "d", "e"]) await engine.start(chain, { id })
    const processed: number[] = []
    for (let tick = 0; tick < 4; tick++) processed.push((await engine.current.tick({ maxInstances: 2 })).processed)
    expect(processed).toEqual([2, 2, 1, 0])
    expect(done).toHaveLength(25)
    await engine.start(children, { id: "p" })
    expect(await engine.current.tick({ maxInstances: 1 })).toMatchObject({ processed: 1 })
    expect(done).toHaveLength(25)
    expect(await engine.current.tick()).toMatchObject({ processed: 2 })
    expect(done).toHaveLength(35)
  })

  it("continues instances that wake up before new starts, and new starts get a share of many small ticks", async () => {
    await using engine = await open()
    const sleepers = Array.from({ length: 60 }, (_, n) => `sleeper-${n}`)
    for (const id of sleepers) await engine.start(chain, { id })
    await engine.current.tick()
    for (let n = 0; n < 30; n++) await engine.start(chain, { id: `new-${n}` })
    await engine.skip("5s")
    expect(await engine.current.tick({ maxInstances: 8 })).toMatchObject({ processed: 8 })
    expect(await engine.count({}, "status")).toEqual({ waiting: 7, sleeping: 53 + 1, queued: 29 })
    for (let tick = 0; tick < 50; tick++) await engine.current.tick({ maxInstances: 1 })
    const { queued } = await engine.count({}, "status")
    expect(queued).toBeLessThan(29)
    expect(queued).toBeGreaterThan(14)
  })

  it("begins at most maxSteps attempts, and each step once over all ticks", async () => {
    await using engine = await open()
    for (const id of ["a", "b", "c"]) await engine.start(chain, { id })
    for (let expected = 4; expected <= 12; expected += 4) {
      await engine.current.tick({ maxSteps: 4 })
      expect(done).toHaveLength(expected)
    }
    await engine.current.tick({ maxSteps: 4 })
    expect(done.toSorted()).toEqual(["a", "b", "c"].flatMap((id) => [1, 2, 3, 4, 5].map((index) => `${id}/${index}`)))
    for (const id of ["a", "b", "c"]) expect(await engine.get(id).status()).toBe("sleeping")
  })

  it("runs concurrent ticks one after the other, and executes nothing twice", async () => {
    await using engine = await open()
    for (let index = 0; index < 20; index++) await engine.start(chain, { id: `i${index}` })
    const results = await Promise.all(Array.from({ length: 5 }, () => engine.current.tick({ maxInstances: 6 })))
    expect(results.map(({ processed }) => processed)).toEqual([6, 6, 6, 2, 0])
    expect(new Set(done).size).toBe(100)
    expect(done).toHaveLength(100)
  })

  it("shares the work with the ticks of other processes", async () => {
    const store = memory()
    const host = new SimulatedHost({})
    const spec = { host, store, workflows: [chain], options: { execute: "ticks" as const } }
    const [first, second] = await Promise.all([Engine.open(spec), Engine.open(spec)])
    for (let index = 0; index < 20; index++) await first.start(chain, { id: `i${index}` })
    const results = await Promise.all([first, second].flatMap((engine) => [engine.tick({ maxInstances: 5 }), engine.tick({ maxInstances: 5 })]))
    expect(results.map(({ processed }) => processed)).toEqual([5, 5, 5, 5])
    expect(new Set(done).size).toBe(100)
    expect(done).toHaveLength(100)
    await Promise.all([first.close(), second.close()])
  })

  it("fires schedules that are due", async () => {
    await using engine = await open()
    await engine.schedules.create("s", { workflow: chain, every: "1h", overlap: "allow" })
    await engine.skip("1h")
    expect((await engine.list()).instances).toHaveLength(0)
    await engine.current.tick()
    expect((await engine.list()).instances).toHaveLength(1)
    expect(done).toHaveLength(5)
  })

  it("ends tasks whose time is over, and says when that is", async () => {
    const asking = workflow("asking", (ctx: Context) =>
      ctx.activity("far away", { scheduleToStartTimeout: "1m" }).catch((error: Error) => (error.cause as PerdureError).code),
    )
    await using engine = await createTestEngine({ workflows: [asking], execute: "ticks" })
    const handle = await engine.start(asking, { id: "a" })
    expect(await engine.current.tick()).toEqual({ processed: 1, nextDueAt: engine.now() + 60_000, more: false })
    await engine.skip("1m")
    expect(await engine.current.tick()).toEqual({ processed: 1, more: false })
    expect(await handle.result()).toBe("START_TIMEOUT")
  })

  it("waits for long attempts, and can be closed while it waits", async () => {
    const begun = new Gate()
    const ended = new Gate()
    const slow = workflow("slow", async (ctx: Context) =>
      ctx.do("slow", async () => {
        begun.open()
        await ended.passed
        return 1
      }),
    )
    const host = new SimulatedHost({})
    const engine = await Engine.open({ host, store: memory(), workflows: [slow], options: { execute: "ticks" } })
    await engine.start(slow, { id: "a" })
    const tick = engine.tick()
    await begun.passed
    const closed = engine.close()
    ended.open()
    const isOver = Promise.all([tick.catch(() => undefined), closed])
    for (let isWaiting = true; isWaiting;) {
      await host.advanceTo(host.now() + 5, () => new Promise((resolve) => setImmediate(resolve)))
      isWaiting = await Promise.race([isOver.then(() => false), new Promise<boolean>((resolve) => setImmediate(() => resolve(true)))])
    }
    await expect(engine.describe("a")).rejects.toThrow(expect.objectContaining({ code: "ENGINE_CLOSED" }))
  })

  it.each([
    ["pause", "paused"],
    ["cancel", "cancelled"],
    ["terminate", "terminated"],
  ] as const)("takes in a %s through the same engine at the next step boundary", async (control, status) => {
    const gate = new Gate()
    const begun = new Gate()
    const steps: string[] = []
    const long = workflow("long", async (ctx: Context) => {
      await ctx.do("first", async () => {
        steps.push("first")
        begun.open()
        await gate.passed
      })
      for (const name of ["second", "third"]) await ctx.do(name, () => steps.push(name))
    })
    await using engine = await createTestEngine({ workflows: [long], execute: "ticks" })
    const handle = await engine.start(long, { id: "a" })
    const tick = engine.current.tick()
    await begun.passed
    expect(await handle[control]()).toMatchObject({ accepted: true })
    gate.open()
    await tick
    expect(steps).toEqual(["first"])
    expect(await handle.status()).toBe(status)
  })

  it("handles an event that is sent through the same engine during a tick", async () => {
    const begun = new Gate()
    const heard = new Gate()
    const both = workflow("both", async (ctx: Context<{ go: number }>) => {
      const work = ctx.do("work", async () => {
        begun.open()
        await heard.passed
      })
      await ctx.waitForEvent("go")
      heard.open()
      await work
      return "done"
    })
    await using engine = await createTestEngine({ workflows: [both], execute: "ticks" })
    const handle = await engine.start(both, { id: "a" })
    const tick = engine.current.tick()
    await begun.passed
    await handle.sendEvent("go", 1)
    await tick
    expect(await handle.result()).toBe("done")
  })

  it("does not record a step as started without budget: the first execution is attempt 1", async () => {
    const attempts: string[] = []
    const pair = workflow("pair", { retry: { maxAttempts: 2, initialInterval: "1s", jitter: 0 } }, async (ctx: Context) => {
      const both = ["x", "y"].map((name) => ctx.do(name, ({ attempt }) => attempts.push(`${ctx.instance.id}/${name} ${attempt}`)))
      await Promise.all(both)
      await ctx.do("flaky", ({ attempt }) => {
        attempts.push(`${ctx.instance.id}/flaky ${attempt}`)
        if (attempt === 1) throw new Error("not yet")
      })
    })
    await using engine = await createTestEngine({ workflows: [pair], execute: "ticks" })
    for (const id of ["a", "b"]) await engine.start(pair, { id })
    for (let tick = 0; tick < 6; tick++) await engine.current.tick({ maxSteps: 1 })
    await engine.skip("1s")
    for (let tick = 0; tick < 2; tick++) await engine.current.tick({ maxSteps: 1 })
    expect(attempts.toSorted()).toEqual(["a", "b"].flatMap((id) => [`${id}/flaky 1`, `${id}/flaky 2`, `${id}/x 1`, `${id}/y 1`]))
    for (const id of ["a", "b"]) {
      await engine.current.tick()
      expect(await engine.get(id).status()).toBe("completed")
      const { entries } = await engine.get(id).history({ limit: 100 })
      expect(entries.filter(({ type }) => type === "step.started")).toHaveLength(4)
    }
  })

  it("offers everything that its store offers, including transactions of steps", async () => {
    const moving = workflow("moving", async (ctx: Context) => ctx.transaction("move", async (_: TransactionClient) => Promise.resolve("moved")))
    const commits: unknown[] = []
    const client = { query: () => Promise.resolve({ rows: [], rowCount: 0 }) }
    const store: StoreProvider = {
      name: "with transactions",
      open: async (context) => {
        const opened = await memory().open(context)
        const commit = async (turn: Turn) => {
          const [outcome = "lost"] = await opened.journal.commit([turn])
          commits.push(outcome)
          return outcome === "committed" ? outcome : "lost"
        }
        const begin = () => Promise.resolve({ client, lostBy: undefined, commit, rollBack: () => Promise.resolve() })
        return overriding(opened, { clientTransactions: { begin } })
      },
    }
    await using engine = await createTestEngine({ workflows: [moving], store, execute: "ticks" })
    const handle = await engine.start(moving, { id: "a" })
    await engine.current.tick()
    expect(await handle.result()).toBe("moved")
    expect(commits).toEqual(["committed"])
  })

  it("accepts only whole numbers as limits, and other engines refuse ticks", async () => {
    await using engine = await open()
    for (const wrong of [0, -1, 1.5, Number.NaN])
      await expect(engine.current.tick({ maxInstances: wrong })).rejects.toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
    await using other = await createTestEngine({ workflows: [chain] })
    await expect(other.current.tick()).rejects.toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
    await expect(createTestEngine({ workflows: [chain], execute: "never" as "ticks" })).rejects.toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  })
})

describe("POST /runner/tick", () => {
  it("drives the engine if it is enabled", async () => {
    await using engine = await open()
    await engine.start(chain, { id: "a" })
    const app = createHttpApp(engine.current, { tick: true })
    const tick = async (body?: string) => {
      const response = await app.request("/runner/tick", { method: "POST", ...(body === undefined ? {} : { body }) })
      return [response.status, await response.json()]
    }
    expect(await tick(`{"maxInstances":1,"maxSteps":3}`)).toMatchObject([200, { processed: 1, more: true }])
    expect(done).toHaveLength(3)
    const nextDueAt = engine.now() + 5_000
    expect(await Promise.all([tick(), tick()])).toEqual([
      [200, { processed: 1, nextDueAt, more: false }],
      [200, { processed: 0, nextDueAt, more: false }],
    ])
    expect(await tick(`{"maxSteps":0}`)).toMatchObject([400, { error: { code: "BAD_REQUEST" } }])
  })
})
