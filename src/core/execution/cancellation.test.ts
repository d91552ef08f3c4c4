import { describe, expect, it } from "vitest"
import { defaultLimits } from "../workflow/input-limits.ts"
import type { AskRequest } from "./ask.ts"
import { Cancellation } from "./cancellation.ts"
import { Children } from "./child-handles.ts"
import { OpenAsks } from "./open-asks.ts"

const cancelAt = 10
const step = (id: string): AskRequest => ({ kind: "do", id, fn: () => 1, options: undefined })
const sleep = (id: string): AskRequest => ({ kind: "sleep", id, signal: undefined, wakeAt: (now) => now + 1 })
const wait = (id: string): AskRequest => ({ kind: "wait", id, signal: undefined, event: "e", timeoutMs: undefined, fallback: undefined })

/** Asks that are recorded at a position, or not at all, and which of their promises have rejected by now. */
class Asked {
  readonly asks = new OpenAsks()
  readonly rejected: string[] = []

  add(request: AskRequest, position?: number) {
    const ask = this.asks.add(request)
    ask.promise.catch((error: Error) => this.rejected.push(`${request.id} ${error.name}`))
    if (position !== undefined) this.asks.accept(request.id, request.kind, position, request.kind === "wait" ? request.event : undefined)
    return ask
  }

  async cancel(cancellation = new Cancellation("i")): Promise<readonly string[]> {
    cancellation.request({ position: cancelAt, reason: "enough" }, this.asks, undefined)
    await Promise.resolve()
    return this.rejected
  }
}

describe("a cancel", () => {
  it("rejects sleeps and waits, recorded or not", async () => {
    const asked = new Asked()
    asked.add(sleep("s"), 2)
    asked.add(wait("w"), 3)
    asked.add(sleep("s#2"))
    asked.add(wait("w#2"))
    expect(await asked.cancel()).toEqual(["s", "w", "s#2", "w#2"].map((id) => `${id} CancelledError`))
    expect(asked.asks.size).toBe(0)
  })

  it("rejects a step between two attempts, and marks a step with a running attempt to reject when the attempt ends", async () => {
    const asked = new Asked()
    const running = asked.add(step("running"), 2)
    asked.add(step("retrying"), 3)
    asked.asks.retrying("retrying")
    expect(await asked.cancel()).toEqual(["retrying CancelledError"])
    expect(running.cancelled).toMatchObject({ code: "CANCELLED" })
    expect(asked.asks.request("running")).toBeDefined()
  })

  it("leaves steps alone that are recorded after it, or not yet: they are clean-up", async () => {
    const asked = new Asked()
    const later = [asked.add(step("later"), cancelAt + 1), asked.add(step("fresh"))]
    expect(await asked.cancel()).toEqual([])
    expect(later.map(({ cancelled }) => cancelled)).toEqual([undefined, undefined])
  })

  it("rejects the result of a child that the code waits for", async () => {
    const instance = { id: "i", workflow: "w", version: "1", run: 1, startedAt: 0, incarnation: "x", attempt: 1 }
    const effects = { startChild: () => () => 1, sendEvent: () => () => 1, cancel: () => () => 1 }
    const children = new Children({ instance, guardWait: () => undefined }, effects, defaultLimits)
    const askFor = async (_name: string, make: (id: string) => AskRequest) => void make("c")
    const result = (await children.start(askFor, "w", { id: "c", input: 1 })).result()
    expect(children.isAwaited).toBe(true)
    new Cancellation("i").request({ position: cancelAt, reason: undefined }, new OpenAsks(), children)
    await expect(result).rejects.toMatchObject({ code: "CANCELLED" })
    expect(children.isAwaited).toBe(false)
  })

  it("aborts ctx.signal, whether the code has read it before or reads it later", async () => {
    const before = new Cancellation("i")
    const { signal } = before
    expect([signal.aborted, before.isRequested]).toEqual([false, false])
    await new Asked().cancel(before)
    expect(signal.reason).toMatchObject({ code: "CANCELLED", message: expect.stringContaining("enough") as string })
    const after = new Cancellation("i")
    await new Asked().cancel(after)
    expect([after.signal.aborted, after.isRequested]).toEqual([true, true])
  })

  it("throws where the code asks for something to wait for later", async () => {
    const cancellation = new Cancellation("i")
    expect(() => cancellation.throwIfRequested()).not.toThrow()
    await new Asked().cancel(cancellation)
    expect(() => cancellation.throwIfRequested()).toThrow(expect.objectContaining({ code: "CANCELLED" }))
  })
})
