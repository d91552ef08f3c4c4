import { describe, expect, it } from "vitest"
import { encodeValue, Payload } from "../values/value-codec.ts"
import { Execution } from "./execution.ts"
import type { Release } from "../journal/journal.ts"
import { defaultLimits } from "../workflow/input-limits.ts"
import { workflow, type AnyWorkflow } from "../workflow/workflow.ts"

/** Drives code by hand, as an engine would: one entry, then a macrotask. */
class Driver {
  readonly execution: Execution
  #position = 0

  constructor(code: AnyWorkflow) {
    const silent = () => undefined
    this.execution = new Execution({
      workflow: code,
      info: { id: "i", workflow: code.name, version: "1", run: 1, startedAt: 0, incarnation: "x", attempt: 1 },
      seed: "x:1",
      limits: defaultLimits,
      log: { debug: silent, info: silent, warn: silent, error: silent },
      enter: (run) => run(),
      guard: silent,
      childEffects: { startChild: () => silent, sendEvent: () => silent, cancel: () => silent },
      onActivity: silent,
    })
  }

  async begin(input?: unknown): Promise<void> {
    await this.release({ type: "run.started", run: 1, workflow: "w", version: "1", value: Payload.of(encodeValue(input)) })
  }

  async release(entry: Release, payload?: unknown): Promise<void> {
    this.execution.release(
      { position: ++this.#position, run: 1, at: this.#position * 10, entry },
      payload === undefined
        ? undefined
        : { position: this.#position, run: 1, at: 0, entry: { type: "event.received", event: "e", value: Payload.of(encodeValue(payload)) } },
    )
    await new Promise((resolve) => setImmediate(resolve))
  }

  /** Records all that the code asked for. */
  acceptAll(): readonly string[] {
    const ids = this.execution.asks.fresh.keys()
    for (const { request } of this.execution.asks.fresh.values()) {
      this.execution.asks.accept(request.id, request.kind, ++this.#position, request.kind === "wait" ? request.event : undefined)
    }
    return ids
  }

  complete(id: string, value: unknown): Promise<void> {
    return this.release({ type: "step.completed", id, value: Payload.of(encodeValue(value)) })
  }
}

describe("an execution", () => {
  it("asks, is given what is recorded, and comes to an outcome", async () => {
    const driver = new Driver(workflow("w", async (ctx, input: number) => input + (await ctx.do("a", () => 0)) + (await ctx.do("a", () => 0))))
    await driver.begin(1)
    expect(driver.acceptAll()).toEqual(["a"])
    await driver.complete("a", 10)
    expect(driver.acceptAll()).toEqual(["a#2"])
    await driver.complete("a#2", 100)
    expect(driver.execution.outcome).toEqual({ ok: true, value: 111 })
  })

  it("never hands out the object that it was given", async () => {
    const seen: unknown[] = []
    const driver = new Driver(workflow("w", async (ctx) => void seen.push(await ctx.do("a", () => 0))))
    await driver.begin()
    driver.acceptAll()
    const value = { deep: [1] }
    await driver.complete("a", value)
    value.deep.push(2)
    expect(seen).toEqual([{ deep: [1] }])
  })

  it("a race is won by what is released first, also where the loser has fewer awaits to go", async () => {
    const slow = async (promise: Promise<string>) => {
      const value = await promise
      for (let hop = 0; hop < 20; hop++) await Promise.resolve()
      return value
    }
    const driver = new Driver(workflow("w", (ctx) => Promise.race([slow(ctx.do("a", () => "a")), ctx.do("b", () => "b")])))
    await driver.begin()
    expect(driver.acceptAll()).toEqual(["a", "b"])
    await driver.complete("a", "a")
    await driver.complete("b", "b")
    expect(driver.execution.outcome).toEqual({ ok: true, value: "a" })
  })

  it("says when what is recorded was not asked for, or was asked for as something else", async () => {
    const driver = new Driver(workflow("w", (ctx) => Promise.all([ctx.sleep("a", 5), ctx.waitForEvent("b")])))
    await driver.begin()
    expect(driver.execution.asks.accept("missing", "do", 2)).toBe("missing")
    expect(driver.execution.asks.accept("a", "do", 2)).toEqual({ asked: 'sleep "a"' })
    expect(driver.execution.asks.accept("b", "wait", 2, "other")).toEqual({ asked: 'wait "b" for event "b"' })
    expect(driver.execution.asks.accept("b", "wait", 2, "b")).toBe("accepted")
  })

  it("a cancel rejects recorded sleeps and waits at once, attempts when they end, and steps asked for later not at all", async () => {
    const log: string[] = []
    const note = (name: string, promise: Promise<unknown>) =>
      promise.then(() => log.push(`${name} done`)).catch((error: Error) => log.push(`${name} ${error.name}`))
    const driver = new Driver(
      workflow("w", async (ctx) => {
        await Promise.all([
          note("sleep", ctx.sleep("s", 5)),
          note("wait", ctx.waitForEvent("e")),
          note(
            "step",
            ctx.do("d", () => 1),
          ),
        ])
        await note("late sleep", ctx.sleep("s2", 5))
        await note(
          "clean-up",
          ctx.do("c", () => 1),
        )
      }),
    )
    await driver.begin()
    driver.acceptAll()
    await driver.release({ type: "cancel.requested", cause: "request", reason: "enough" })
    expect(log).toEqual(["sleep CancelledError", "wait CancelledError"])
    await driver.complete("d", 1)
    expect(log.slice(2)).toEqual(["step CancelledError", "late sleep CancelledError"])
    expect(driver.acceptAll()).toEqual(["c"])
    await driver.complete("c", 1)
    expect(log.at(-1)).toBe("clean-up done")
    expect(driver.execution.signal.aborted).toBe(true)
  })

  it("a step that waits to be tried again rejects at once when cancelled", async () => {
    const driver = new Driver(workflow("w", (ctx) => ctx.do("d", () => 1)))
    await driver.begin()
    driver.acceptAll()
    driver.execution.asks.retrying("d")
    await driver.release({ type: "cancel.requested", cause: "request" })
    expect(driver.execution.outcome).toMatchObject({ ok: false, error: { code: "CANCELLED" } })
  })

  it("a sleep given up through its signal is to be recorded as aborted, once it is recorded at all", async () => {
    const first = new AbortController()
    const second = new AbortController()
    const driver = new Driver(
      workflow("w", async (ctx) => {
        const sleeps = [ctx.sleep("a", 5, { signal: first.signal }), ctx.sleep("b", 5, { signal: second.signal })]
        first.abort(new Error("changed my mind"))
        await Promise.allSettled(sleeps)
      }),
    )
    await driver.begin()
    expect(driver.acceptAll()).toEqual(["b"])
    second.abort()
    expect(driver.execution.notes).toEqual([{ type: "ask.aborted", id: "b" }])
    expect(driver.execution.asks.accept("a", "sleep", 9)).toBe("accepted")
  })
})
