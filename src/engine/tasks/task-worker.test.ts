import { type ActivityContext, defineActivity, PerdureError, workflow, type Context, type PayloadCodec } from "perdure"
import { memory } from "../../stores/memory/memory-provider.ts"
import { createTestEngine } from "../../testing/test-engine.ts"
import { describe, expect, it } from "vitest"
import type { StoreProvider } from "../../ports/store.ts"
import type { TaskStore } from "../../ports/task-store.ts"
import { Gate } from "../../testing/scenarios/gate.ts"
import { overriding } from "../method-overrides.ts"
import type { StoredTasks } from "./stored-tasks.ts"

/** A store whose tasks behave in another way. */
function withTasks(change: (tasks: TaskStore) => Partial<TaskStore>): StoreProvider {
  const inner = memory()
  return {
    name: inner.name,
    open: async (context) => {
      const store = await inner.open(context)
      if (!store.tasks) throw new Error("the store has no tasks")
      return overriding(store, { tasks: overriding(store.tasks, change(store.tasks)) })
    },
  }
}

describe("room for activities", () => {
  it("is given back when an attempt is over, even if its function never ends", async () => {
    const hang = defineActivity("hang", { timeout: "1s" }, () => new Promise(() => undefined))
    const quick = defineActivity("quick", () => "done")
    const both = workflow("both", async (ctx: Context) => {
      await ctx.activity(hang).catch(() => undefined)
      return ctx.activity(quick)
    })
    await using engine = await createTestEngine({ workflows: [both], activities: [hang, quick], maxConcurrentActivities: 1 })
    const handle = await engine.start(both, { id: "i" })
    await engine.skip("1s")
    expect(await handle.result()).toBe("done")
  })

  it("is taken when an attempt is recorded: of a fan-out the rest are tasks, which other processes may take", async () => {
    const gate = new Gate()
    const work = defineActivity("work", () => gate.passed)
    const fan = workflow("fan", (ctx: Context) => Promise.all([1, 2, 3, 4].map(() => ctx.activity(work))))
    await using engine = await createTestEngine({ workflows: [fan], activities: [work], maxConcurrentActivities: 1 })
    const handle = await engine.start(fan, { id: "i" })
    await engine.settle()
    expect((await handle.steps()).map(({ queue }) => queue)).toEqual([undefined, "default", "default", "default"])
    gate.open()
    await engine.settle()
    expect(await handle.status()).toBe("completed")
  })

  it("of attempts that never began is given back when their instance leaves memory", async () => {
    const gate = new Gate()
    const work = defineActivity("work", () => gate.passed)
    const one = workflow("one", (ctx: Context) => ctx.activity(work))
    await using engine = await createTestEngine({ workflows: [one], activities: [work], maxConcurrentActivities: 5 })
    for (const id of ["a", "b", "c"]) await engine.start(one, { id })
    await engine.settle()
    const { activities } = engine.current.components.worker
    expect(activities.running).toBe(3)
    for (const id of ["a", "b"]) await engine.get(id).terminate()
    await engine.settle()
    expect(activities.running).toBe(1)
    gate.open()
  })
})

describe("the attempts of one activity", () => {
  it("have one idempotency key, whether they run in place or as tasks", async () => {
    const keys: string[] = []
    const gate = new Gate()
    const pay = defineActivity("pay", { retry: { maxAttempts: 2, initialInterval: "1s", jitter: 0 } }, (_: void, { idempotencyKey, attempt }) => {
      keys.push(idempotencyKey)
      if (attempt === 1) throw new Error("again")
    })
    const busy = defineActivity("busy", () => gate.passed)
    const paying = workflow("paying", (ctx: Context) => ctx.activity(pay))
    const blocking = workflow("blocking", (ctx: Context) => ctx.activity(busy))
    await using engine = await createTestEngine({ workflows: [paying, blocking], activities: [pay, busy], maxConcurrentActivities: 1 })
    const handle = await engine.start(paying, { id: "i" })
    await engine.settle()
    await engine.start(blocking, { id: "j" })
    await engine.skip("1s")
    expect((await handle.steps())[0]).toMatchObject({ attempts: 2, queue: "default", status: "running" })
    gate.open()
    await engine.settle()
    await handle.result()
    expect(keys).toHaveLength(2)
    expect(keys[1]).toBe(keys[0])
  })

  it("that a closing process hands back do not count as lost", async () => {
    const attempts: number[] = []
    const work = defineActivity("work", { heartbeatTimeout: "1h" }, (_: void, { attempt }) => {
      attempts.push(attempt)
      return attempt > 4 ? "done" : new Promise(() => undefined)
    })
    const one = workflow("one", (ctx: Context) => ctx.activity(work))
    const store = memory()
    for (let closings = 0; closings < 4; closings++) {
      const engine = await createTestEngine({ store, workflows: [one], activities: [work], maxRecoveries: 2, drain: 0, seed: `seed ${closings}` })
      await engine.start(one, { id: "i", ifExists: "return" })
      await engine.settle()
      await engine.close()
    }
    await using engine = await createTestEngine({ store, workflows: [one], activities: [work], maxRecoveries: 2 })
    await engine.settle()
    expect(await engine.get("i").result()).toBe("done")
    expect(attempts).toEqual([1, 2, 3, 4, 5])
  })
})

describe("a codec that fails", () => {
  it("makes a result wait until it works again, and the function does not run twice", async () => {
    let isBroken = false
    let calls = 0
    const codec: PayloadCodec = {
      id: "c",
      encode: (bytes) => {
        if (isBroken) throw new Error("no key")
        return bytes
      },
      decode: (bytes) => bytes,
    }
    const work = defineActivity("work", { heartbeatTimeout: "1h" }, () => {
      isBroken = true
      return ++calls
    })
    const one = workflow("one", (ctx: Context) => ctx.activity(work))
    await using engine = await createTestEngine({ workflows: [one], activities: [work], codec })
    const handle = await engine.start(one, { id: "i" })
    await engine.skip("10s")
    expect(await handle.status()).toBe("waiting")
    isBroken = false
    await engine.skip("10s")
    expect([await handle.result(), calls]).toEqual([1, 1])
  })
})

describe("heartbeats", () => {
  it("of a slow renewal do not overwrite later ones, and a failed renewal invents none", async () => {
    const answers: Gate[] = []
    const seen: unknown[] = []
    const sent: unknown[] = []
    const store = withTasks((tasks) => ({
      keep: async (claims, leaseMs) => {
        sent.push(...claims.map(({ heartbeat }) => heartbeat?.details))
        const gate = new Gate()
        answers.push(gate)
        if (answers.length === 1) await gate.passed
        if (answers.length === 2) throw new PerdureError("STORE_FAILED", "no answer")
        return tasks.keep(claims, leaseMs)
      },
    }))
    const steps = [new Gate(), new Gate()]
    const work = defineActivity("work", { heartbeatTimeout: "1h", retry: { maxAttempts: 2, initialInterval: 0 } }, async (_: void, context) => {
      seen.push(context.lastHeartbeat)
      if (context.attempt === 2) return
      context.heartbeat(1)
      await steps[0]?.passed
      context.heartbeat(2)
      await steps[1]?.passed
      throw new Error("again")
    })
    const one = workflow("one", (ctx: Context) => ctx.activity(work))
    await using engine = await createTestEngine({ store, workflows: [one], activities: [work] })
    const handle = await engine.start(one, { id: "i" })
    await engine.settle()
    const skipped = engine.skip("200ms")
    await new Promise((resolve) => setTimeout(resolve, 20))
    steps[0]?.open()
    await new Promise((resolve) => setTimeout(resolve, 20))
    answers[0]?.open()
    await skipped
    await engine.skip("2s")
    steps[1]?.open()
    await engine.skip("1s")
    await handle.result()
    expect(seen).toEqual([undefined, 2])
    expect(sent.slice(0, 3)).toEqual(["1", "2", "2"])
  })

  it("of a sensitive activity are shown nowhere", async () => {
    const lines: unknown[] = []
    const write = (message: string, data?: Record<string, unknown>) => void lines.push(message, data?.["error"] instanceof Error ? data["error"].message : data)
    const log = { debug: write, info: write, warn: write, error: write }
    const secret = defineActivity(
      "secret",
      { sensitive: true, heartbeatTimeout: "1h", retry: { maxAttempts: 2, initialInterval: "1h" } },
      (_: void, { heartbeat }) => {
        heartbeat("SECRET-1")
        throw new Error("SECRET-2")
      },
    )
    const one = workflow("one", (ctx: Context) => ctx.activity(secret))
    await using engine = await createTestEngine({ workflows: [one], activities: [secret], log })
    const handle = await engine.start(one, { id: "i" })
    await engine.settle()
    const { entries } = await handle.history({ limit: 100 })
    expect(entries.map(({ type }) => type)).toContain("step.failed")
    expect(JSON.stringify([entries, await handle.describe(), lines])).not.toContain("SECRET")
  })
})

describe("claims", () => {
  it("of a queue with a rate do not multiply with the hints that come", async () => {
    let claims = 0
    const store = withTasks((tasks) => ({
      claim: async (request) => {
        claims++
        return tasks.claim(request)
      },
    }))
    const work = defineActivity("work", () => "done")
    const options = { workflows: [], activities: [work], taskQueues: ["default"], taskQueueRates: { default: { limit: 1, per: "1s" } } } as const
    await using engine = await createTestEngine({ store, ...options, sweep: "52w" })
    for (let hints = 0; hints < 50; hints++) {
      await engine.current.core.handleHint()
      await engine.skip("10ms")
    }
    claims = 0
    await engine.skip("20s")
    expect(claims).toBeGreaterThan(5)
    expect(claims).toBeLessThanOrEqual(20)
  })

  it("that are given back before anything has run do not count as lost attempts", async () => {
    const one = workflow("one", (ctx: Context) => ctx.activity("work", { taskQueue: "far" }))
    await using engine = await createTestEngine({ workflows: [one], maxRecoveries: 1 })
    const tasks = engine.current.tasks as StoredTasks
    const handle = await engine.start(one, { id: "i" })
    await engine.settle()
    for (let times = 0; times < 4; times++) {
      await tasks.giveBack(await tasks.claim("far", { worker: "w", activities: ["work"] }))
      await engine.settle()
    }
    const [task] = await tasks.claim("far", { worker: "w", activities: ["work"] })
    expect(task).toMatchObject({ attempt: 5 })
    await tasks.complete({ id: task?.id ?? "", token: task?.token ?? "" }, "done")
    expect(await handle.result()).toBe("done")
  })
})

describe("a process that runs activities", () => {
  /** An activity that runs until the test ends, and what it may call meanwhile. */
  async function running(options: { readonly lease?: "30s" } = {}) {
    const begun: ActivityContext[] = []
    const long = defineActivity("long", { heartbeatTimeout: "1h" }, (_: void, context) => {
      begun.push(context)
      return new Promise(() => undefined)
    })
    const one = workflow("one", (ctx: Context) => ctx.activity(long))
    const engine = await createTestEngine({ workflows: [one], activities: [long], drain: 0, ...options })
    await engine.start(one, { id: "i" })
    await engine.settle()
    const [context] = begun
    if (!context) throw new Error("the activity does not run")
    return { engine, context }
  }

  it("stays known to the others while its activities send heartbeats all the time", async () => {
    const { engine, context } = await running({ lease: "30s" })
    for (let beats = 0; beats < 60; beats++) {
      context.heartbeat(beats)
      await engine.skip("2s")
    }
    expect((await engine.current.queues()).map(({ claimed, workers }) => [claimed, workers.length])).toEqual([[1, 1]])
    await engine.close()
  })

  it("tells its activities when the store is gone", async () => {
    const { engine, context } = await running()
    const gone = new PerdureError("DATABASE_GONE", "the file is deleted")
    engine.current.components.taskWorker?.close(gone)
    expect(context.signal.reason).toBe(gone)
    expect(() => context.heartbeat()).toThrow("the file is deleted")
    await engine.close()
  })
})
