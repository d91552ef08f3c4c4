import { type Context, defineActivity, type Engine, NonRetryableError, Perdure, workflow } from "perdure"
import { runActivities } from "perdure/client"
import { type HttpServer, serve } from "perdure/http"
import { memory } from "perdure/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Gate } from "../testing/scenarios/gate.ts"
import { silentLogger } from "../hosts/silent-logger.ts"

// A worker of activities before a real server, in real time.

const order = workflow("order", (ctx: Context, { name, ...options }: { readonly name: string; readonly heartbeatTimeout?: string }) =>
  ctx.activity(name, { taskQueue: "far", input: 5, retry: { maxAttempts: 2, initialInterval: 0 }, ...(options as object) }),
)

describe("runActivities", () => {
  let engine: Engine
  let server: HttpServer
  const errors: unknown[] = []
  beforeEach(async () => {
    engine = await Perdure.open({ store: memory(), workflows: [order], log: silentLogger, lease: "1s" })
    server = await serve(engine, { port: 0, token: "secret", log: silentLogger })
    errors.length = 0
  })
  afterEach(async () => {
    await server.close()
    await engine.close()
  })
  const run = (activities: Parameters<typeof runActivities>[1]["activities"], options: object = {}) =>
    runActivities(server.url, { token: "secret", queue: "far", activities, worker: "press-1", onError: (error) => errors.push(error), ...options })
  const start = (name: string, options: object = {}) => engine.start(order, { input: { name, ...options } })

  it("runs the activities of a queue, several at a time, and finishes what runs when it is stopped", async () => {
    const gates = [new Gate(), new Gate()]
    let running = 0
    const both = new Gate()
    const double = defineActivity("double", async (n: number) => {
      const gate = gates[running++]
      if (running === 2) both.open()
      await gate?.passed
      return 2 * n
    })
    const runner = run([double])
    const handles = [await start("double"), await start("double")]
    await both.passed
    expect(await engine.queues()).toMatchObject([{ queue: "far", claimed: 2, workers: [{ worker: "press-1", activities: ["double"] }] }])
    const stopped = runner.stop()
    for (const gate of gates) gate.open()
    await stopped
    await runner.ended
    expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([10, 10])
    expect(errors).toEqual([])
  })

  it("keeps the claim of an activity that takes longer than the lease, and gives heartbeats to the next attempt", async () => {
    const seen: unknown[] = []
    const slow = defineActivity("slow", async (_: number, { attempt, lastHeartbeat, heartbeat }) => {
      seen.push([attempt, lastHeartbeat])
      if (attempt === 2) await new Promise((resolve) => setTimeout(resolve, 1_300))
      heartbeat({ done: attempt })
      if (attempt === 1) throw Object.assign(new RangeError("not yet"), { left: 1n, odd: () => 1 })
      return "done"
    })
    await using _runner = run([slow])
    const handle = await start("slow")
    expect(await handle.result()).toBe("done")
    expect(seen).toEqual([
      [1, undefined],
      [2, { done: 1 }],
    ])
    expect((await handle.steps())[0]).toMatchObject({ attempts: 2, error: { name: "RangeError", message: "not yet", left: 1n } })
  })

  it("does not try again after a NonRetryableError, or when the result cannot be sent", async () => {
    await using _runner = run([
      defineActivity("final", () => Promise.reject(new NonRetryableError("no stock"))),
      defineActivity("odd", () => ({ odd: Symbol("odd") })),
    ])
    const final = await start("final")
    await expect(final.result()).rejects.toMatchObject({ cause: { name: "NonRetryableError", message: "no stock" } })
    const odd = await start("odd")
    await expect(odd.result()).rejects.toMatchObject({ cause: { code: "UNSERIALIZABLE" } })
    for (const handle of [final, odd]) expect((await handle.steps())[0]).toMatchObject({ attempts: 1 })
  })

  it("aborts the signal of an activity whose workflow was cancelled", async () => {
    const begun = new Gate()
    const aborted = new Gate()
    let reason: unknown
    const endless = defineActivity("endless", async (_: number, { signal }) => {
      signal.addEventListener("abort", () => {
        reason = signal.reason
        aborted.open()
      })
      begun.open()
      await aborted.passed
    })
    await using _runner = run([endless])
    const handle = await start("endless")
    await begun.passed
    await handle.cancel()
    await aborted.passed
    expect(reason).toMatchObject({ code: "STALE_TASK" })
  })

  it("tells running activities to stop when the drain is over; another worker takes them over", async () => {
    const begun = new Gate()
    const first = run(
      [
        defineActivity("work", async (_: number, { signal }) => {
          begun.open()
          await new Promise((resolve) => signal.addEventListener("abort", resolve))
        }),
      ],
      { drain: 0 },
    )
    const handle = await start("work")
    await begun.passed
    await first.stop()
    await using _second = run([defineActivity("work", (_: number, { attempt }) => attempt)])
    expect(await handle.result()).toBe(2)
  })

  it("ends with the error of a server that refuses it", async () => {
    const runner = run([defineActivity("work", () => 1)], { token: "another" })
    await expect(runner.ended).rejects.toMatchObject({ code: "UNAUTHORIZED" })
    expect(() => run([], { maxConcurrentActivities: 0 })).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
    expect(() => runActivities("nowhere", { queue: "far", activities: [] })).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  })
})
