import { afterEach, describe, expect, it } from "vitest"
import { defineActivity, type AnyActivity } from "../../../core/workflow/activity.ts"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import { Engine } from "../../../engine/engine.ts"
import type { EngineOptions } from "../../../engine/settings.ts"
import type { TestEngine } from "../../test-engine.ts"
import { Gate } from "../gate.ts"
import { noticed } from "../other-process.ts"
import { entriesSeen, type OpenBed } from "../scenario-bed.ts"

/** Activities of other processes, which wait in task queues. */
export function taskStories(open: OpenBed): void {
  describe("an activity of another process", () => {
    const others: Engine[] = []
    afterEach(async () => {
      for (const other of others.splice(0)) other.kill()
    })

    /** A process that runs activities of the queue "far", and no workflows. */
    const worker = async (engine: TestEngine, activities: readonly AnyActivity[], options: EngineOptions = {}) => {
      const common = { lease: "30s", sweep: "52w", taskQueues: ["far"], activities } as const
      const other = await Engine.open({ host: engine.host, store: engine.sharedStore, workflows: [], options: { ...common, ...options }, role: "client" })
      others.push(other)
      return other
    }
    /** Lets both processes notice what the other one has written. */
    const settle = async (engine: TestEngine) => {
      for (let round = 0; round < 3; round++) {
        for (const { core } of others) await core.handleHint()
        await noticed(engine)
      }
    }
    const asks = (name: string, options: object = {}) => workflow(name, (ctx: Context) => ctx.activity(name, { taskQueue: "far", input: 5, ...options }))
    const double = defineActivity("double", (n: number) => 2 * n)

    it("waits in its queue until a worker of the queue has it, and its result comes back", async () => {
      const one = asks("double")
      const engine = await open({ workflows: [one] })
      const handle = await engine.start(one, { id: "i" })
      await engine.settle()
      expect(await handle.status()).toBe("waiting")
      await worker(engine, [defineActivity("other", () => 1)])
      await worker(engine, [double], { taskQueues: ["near"] })
      await settle(engine)
      expect(await handle.status()).toBe("waiting")
      await worker(engine, [double])
      await settle(engine)
      expect(await handle.result()).toBe(10)
      expect(await handle.steps()).toMatchObject([{ id: "double", type: "activity", status: "completed", queue: "far", result: 10 }])
      expect(await entriesSeen(handle)).toEqual(["run.started", "step.started", "step.completed", "run.completed"])
    })

    it.each([0, 1, 2, 3])("that ends after %i microtasks makes room for the next one", async (microtasks) => {
      const quick = defineActivity("quick", async (n: number) => {
        for (let i = 0; i < microtasks; i++) await Promise.resolve()
        return n
      })
      const many = workflow("many", (ctx: Context) => Promise.all(Array.from({ length: 60 }, (_, n) => ctx.activity(quick, { taskQueue: "far", input: n }))))
      const engine = await open({ workflows: [many] })
      const handle = await engine.start(many, { id: "i" })
      await engine.settle()
      await worker(engine, [quick], { maxConcurrentActivities: 4 })
      await settle(engine)
      expect(await handle.status()).toBe("completed")
    })

    it("gives its result to an instance that has left memory, and to one whose worker has died", async () => {
      const gate = new Gate()
      const slow = defineActivity("slow", async (n: number) => {
        await gate.passed
        return n + 1
      })
      const one = asks("slow")
      const engine = await open({ workflows: [one] })
      const handles = await Promise.all(["a", "b"].map((id) => engine.start(one, { id })))
      await engine.settle()
      await worker(engine, [slow])
      await settle(engine)
      await engine.evict("a")
      await engine.crash()
      gate.open()
      await settle(engine)
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([6, 6])
      expect((await handles[0]!.steps())[0]).toMatchObject({ attempts: 1 })
    })

    it("is tried again as the workflow says, and each attempt may run in another process", async () => {
      const attempts: unknown[] = []
      const flaky = defineActivity("flaky", (_: number, { attempt, lastHeartbeat, heartbeat }) => {
        attempts.push([attempt, lastHeartbeat])
        heartbeat({ done: attempt })
        if (attempt < 3) throw new Error(`attempt ${attempt}`)
        return "done"
      })
      const one = asks("flaky", { retry: { maxAttempts: 3, initialInterval: "1m", jitter: 0, backoff: "fixed" } })
      const engine = await open({ workflows: [one] })
      const handle = await engine.start(one, { id: "i" })
      await engine.settle()
      await worker(engine, [flaky])
      await settle(engine)
      await engine.crash()
      await engine.skip("1m")
      await settle(engine)
      await engine.skip("1m")
      await settle(engine)
      expect(await handle.result()).toBe("done")
      expect(attempts).toEqual([
        [1, undefined],
        [2, { done: 1 }],
        [3, { done: 2 }],
      ])
    })

    it("is taken over with the last heartbeat when its process dies, which does not count as a failure", async () => {
      const seen: unknown[] = []
      const begun = new Gate()
      const task = (stays: boolean) =>
        defineActivity("task", async (_: number, { attempt, lastHeartbeat, heartbeat }) => {
          seen.push([attempt, lastHeartbeat])
          if (!stays) return "done"
          heartbeat("half")
          begun.open()
          return new Promise(() => undefined)
        })
      const one = asks("task", { heartbeatTimeout: "5s" })
      const engine = await open({ workflows: [one] })
      const handle = await engine.start(one, { id: "i" })
      const first = await worker(engine, [task(true)])
      await settle(engine)
      await begun.passed
      await engine.skip("1s")
      await settle(engine)
      first.kill()
      await worker(engine, [task(false)])
      await engine.skip("3s")
      await settle(engine)
      expect(seen).toHaveLength(1)
      await engine.skip("3s")
      await settle(engine)
      expect(await handle.result()).toBe("done")
      expect(seen).toEqual([
        [1, undefined],
        [2, "half"],
      ])
    })

    it("whose claim has ended learns that by its signal, and its late result changes nothing", async () => {
      const gate = new Gate()
      const ends: unknown[] = []
      const task = defineActivity("task", async (_: number, { attempt, signal }) => {
        signal.addEventListener("abort", () => ends.push((signal.reason as { code: string }).code))
        if (attempt === 1) await gate.passed
        return attempt
      })
      const one = asks("task", { heartbeatTimeout: "5s" })
      const engine = await open({ workflows: [one] })
      const handle = await engine.start(one, { id: "i" })
      await worker(engine, [task])
      await settle(engine)
      await engine.skip("5s")
      await settle(engine)
      expect(await handle.result()).toBe(2)
      await engine.skip("10s")
      await settle(engine)
      expect(ends).toEqual(["STALE_TASK"])
      gate.open()
      await settle(engine)
      expect(await handle.result()).toBe(2)
    })

    it("is told of a cancel of its workflow, which does not wait for it", async () => {
      const aborted = new Gate()
      const task = defineActivity("task", async (_: number, { signal }) => {
        signal.addEventListener("abort", () => aborted.open())
        return new Promise(() => undefined)
      })
      const cleaned: string[] = []
      const one = workflow("one", async (ctx: Context) => {
        try {
          await ctx.activity(task, { taskQueue: "far", input: 1 })
        } catch (error) {
          cleaned.push((error as Error).name)
          await ctx.activity("undo", { taskQueue: "far" })
          throw error
        }
      })
      const engine = await open({ workflows: [one] })
      const handle = await engine.start(one, { id: "i" })
      await worker(engine, [task, defineActivity("undo", () => cleaned.push("undone"))])
      await settle(engine)
      await handle.cancel()
      await settle(engine)
      expect([await handle.status(), cleaned]).toEqual(["cancelled", ["CancelledError", "undone"]])
      await engine.skip("10s")
      await settle(engine)
      await aborted.passed
    })

    it("ends with its workflow: by terminate, restart, continueAsNew and the end of the code", async () => {
      const started: string[] = []
      const task = defineActivity("task", async (input: string) => {
        started.push(input)
        return new Promise(() => undefined)
      })
      const one = workflow("one", async (ctx: Context<{ go: "end" | "again" }, string>, input: string): Promise<unknown> => {
        const running = ctx.activity("task", { taskQueue: "far", input })
        const go = await Promise.race([ctx.waitForEvent("go"), running])
        return go === "again" ? ctx.continueAsNew("again") : input
      })
      const engine = await open({ workflows: [one] })
      const depth = async () => (await engine.current.components.store.tasks?.depths())?.reduce((sum, { waiting, claimed }) => sum + waiting + claimed, 0)
      const [a, b, c, d] = await Promise.all(["a", "b", "c", "d"].map((id) => engine.start(one, { id, input: id })))
      await worker(engine, [task])
      await settle(engine)
      expect(started.toSorted()).toEqual(["a", "b", "c", "d"])
      expect(await depth()).toBe(4)
      await a!.terminate()
      await b!.restart()
      await c!.sendEvent("go", "again")
      await d!.sendEvent("go", "end")
      await settle(engine)
      expect(started.toSorted()).toEqual(["a", "again", "b", "b", "c", "d"])
      expect(await depth()).toBe(2)
    })

    it("whose result comes while the workflow is paused is taken when it is resumed", async () => {
      const gate = new Gate()
      const task = defineActivity("task", async () => gate.passed.then(() => "done"))
      const one = asks("task")
      const engine = await open({ workflows: [one] })
      const handle = await engine.start(one, { id: "i" })
      await worker(engine, [task])
      await settle(engine)
      await handle.pause()
      await settle(engine)
      expect(await handle.status()).toBe("paused")
      gate.open()
      await settle(engine)
      await engine.crash()
      expect(await handle.status()).toBe("paused")
      await handle.resume()
      await settle(engine)
      expect(await handle.result()).toBe("done")
    })

    it("fails when nobody takes it up in time, or when it takes too long over all attempts", async () => {
      const codes = workflow("codes", (ctx: Context) => {
        const code = (call: Promise<unknown>) => call.catch((error: Error) => (error.cause as { code: string }).code)
        return Promise.all([
          code(ctx.activity("nobody", { taskQueue: "far", scheduleToStartTimeout: "1m", retry: { maxAttempts: 9 } })),
          code(ctx.activity("hanging", { taskQueue: "far", scheduleToCloseTimeout: "2m", retry: { maxAttempts: 9 } })),
          code(ctx.activity("slow", { taskQueue: "far", timeout: "30s", retry: { maxAttempts: 2, initialInterval: 0 } })),
        ])
      })
      const engine = await open({ workflows: [codes] })
      const handle = await engine.start(codes, { id: "i" })
      const hang = () => new Promise<never>(() => undefined)
      await worker(engine, [defineActivity("hanging", hang), defineActivity("slow", hang)])
      await settle(engine)
      for (let passed = 0; passed < 12; passed++) {
        await engine.skip("10s")
        await settle(engine)
      }
      expect(await handle.result()).toEqual(["START_TIMEOUT", "DEADLINE_EXCEEDED", "STEP_TIMEOUT"])
    })

    it("begins again in a fork, and after a restart from a later step", async () => {
      let calls = 0
      const gate = new Gate()
      const task = defineActivity("task", async () => {
        calls++
        await gate.passed
        return "done"
      })
      const one = workflow("one", async (ctx: Context<{ go: undefined }>) => {
        const running = ctx.activity("task", { taskQueue: "far" })
        await ctx.do("first", () => 1)
        await ctx.do("second", () => 2)
        return running
      })
      const engine = await open({ workflows: [one] })
      const handle = await engine.start(one, { id: "i" })
      await worker(engine, [task])
      await settle(engine)
      expect(calls).toBe(1)
      await handle.restart({ from: "second" })
      await settle(engine)
      expect(calls).toBe(2)
      const copy = await handle.fork({ id: "copy", from: "second" })
      await settle(engine)
      expect(calls).toBe(3)
      gate.open()
      await settle(engine)
      expect([await handle.result(), await copy.result()]).toEqual(["done", "done"])
    })

    it("is given back at once when its process closes", async () => {
      const attempts: number[] = []
      const task = defineActivity("task", async (_: number, { attempt }) => {
        attempts.push(attempt)
        return attempt === 1 ? new Promise(() => undefined) : "done"
      })
      const one = asks("task")
      const engine = await open({ workflows: [one] })
      const handle = await engine.start(one, { id: "i" })
      const first = await worker(engine, [task], { drain: 0 })
      await settle(engine)
      const closed = first.close()
      await engine.skip("1s")
      await closed
      others.length = 0
      await worker(engine, [task])
      await settle(engine)
      expect(await handle.result()).toBe("done")
      expect(attempts).toEqual([1, 2])
    })
  })

  describe("a task queue", () => {
    it("gives an engine no more activities than it may run at a time, and no faster than its rate", async () => {
      let running = 0
      let most = 0
      const gates: Gate[] = []
      const task = defineActivity("task", async () => {
        most = Math.max(most, ++running)
        const gate = new Gate()
        gates.push(gate)
        await gate.passed
        running--
      })
      const many = workflow("many", (ctx: Context) => Promise.all(Array.from({ length: 8 }, () => ctx.activity(task))))
      const engine = await open({ workflows: [many], activities: [task], maxConcurrentActivities: 3 })
      const handle = await engine.start(many, { id: "i" })
      for (let round = 0; round < 8; round++) {
        await engine.settle()
        gates.shift()?.open()
      }
      await engine.settle()
      expect(await handle.status()).toBe("completed")
      expect(most).toBe(3)
    })

    it("with a rate gives out that many activities in each period", async () => {
      const begunAt: number[] = []
      const engineNow = { now: () => 0 }
      const task = defineActivity("task", () => begunAt.push(engineNow.now()))
      const many = workflow("many", (ctx: Context) => Promise.all(Array.from({ length: 5 }, () => ctx.activity(task))))
      const engine = await open({ workflows: [many], activities: [task], taskQueues: ["default"], taskQueueRates: { default: { limit: 2, per: "10s" } } })
      engineNow.now = () => engine.now()
      const handle = await engine.start(many, { id: "i" })
      await engine.skip("30s")
      expect(await handle.status()).toBe("completed")
      const from = begunAt[0] ?? 0
      expect(begunAt.map((at) => Math.floor((at - from) / 10_000))).toEqual([0, 0, 1, 1, 2])
    })
  })
}
