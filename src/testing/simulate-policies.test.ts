import { describe, expect, it } from "vitest"
import type { Context, StepContext } from "../core/workflow/context.ts"
import { workflow, type RollbackPolicy } from "../core/workflow/workflow.ts"
import { simulate } from "./simulate.ts"
import type { SimulatedWorld } from "./simulation/simulated-world.ts"
import { SimulationError } from "./simulation/simulation-error.ts"

const once = { retry: { maxAttempts: 1 } } as const

describe("a simulation of a workflow with a rollback policy", () => {
  const booking = (rollbackPolicy: RollbackPolicy) => (world: SimulatedWorld) =>
    workflow("booking", { rollbackPolicy }, async (ctx) => {
      const undo =
        (what: string) =>
        (result: unknown, { idempotencyKey }: StepContext) =>
          world.effect(`undo ${what}, which gave ${String(result)}`, idempotencyKey)
      const flight = ctx.do("flight", () => world.sleep("10m").then(() => "seat 7"), { rollback: undo("flight") })
      const hotel = ctx.do("hotel", () => "room 9", { rollback: { run: () => Promise.reject(new Error("no refund")), ...once } })
      await Promise.all([flight, hotel])
      await ctx.do("car", () => Promise.reject(new Error("no cars")), { ...once, rollback: undo("car") })
    })

  it("undoes started steps, also the one that failed, in every run", async () => {
    const { status, effects } = await simulate(booking({ of: "started" }), { seeds: 40 })
    expect(status).toBe("failed")
    expect(Object.keys(effects).filter((name) => name.includes("undo"))).toEqual(
      expect.arrayContaining(['effect "undo car, which gave undefined"', 'effect "undo flight, which gave seat 7"']),
    )
  })

  it("stops at the first rollback that fails, in every run", async () => {
    const { status, effects } = await simulate(booking({ of: "started", onFailure: "stop" }), { seeds: 40 })
    expect(status).toBe("failed")
    expect(Object.keys(effects).filter((name) => name.includes("undo"))).toEqual(['effect "undo car, which gave undefined"'])
  })

  it("finds effects of steps and rollbacks without a key", async () => {
    const careless = (world: SimulatedWorld) =>
      workflow("careless", { rollbackPolicy: { of: "started" } }, async (ctx) => {
        await ctx.do("charge", () => world.effect("charge"), { ...once, rollback: () => world.effect("pay back") })
        await ctx.do("ship", () => Promise.reject(new Error("no ship")), once)
      })
    await expect(simulate(careless, { seeds: 5 })).rejects.toMatchObject({ kind: "effects" })
  })
})

describe("a simulation of a workflow with a retry function that answers later", () => {
  const patient = (delay: () => Promise<"1h" | false>) => {
    let failures = 0
    return workflow("patient", async (ctx) => {
      const flaky = () => {
        if (failures++ < 2) throw new Error("not yet")
        return "at last"
      }
      return ctx.do("flaky", flaky, { retry: delay }).catch((error: Error) => error.message)
    })
  }

  it("passes if the function gives a delay, or no further attempt", async () => {
    expect((await simulate(() => patient(() => Promise.resolve("1h")), { seeds: 40 })).result).toBe("at last")
    expect((await simulate(() => patient(() => Promise.resolve(false)), { seeds: 10, faults: { crashes: false } })).result).toContain("not yet")
  })

  it("passes if the function takes virtual time", async () => {
    const slow = (world: SimulatedWorld) => patient(() => world.sleep("1m").then(() => "1h" as const))
    expect((await simulate(slow, { seeds: 40 })).result).toBe("at last")
  })
})

describe("a simulation of a workflow that receives events", () => {
  it("passes if the result does not depend on the time of an event", async () => {
    const order = workflow("order", async (ctx: Context<{ payment: { amount: number } }>) => {
      const { type, payload, eventId } = await ctx.receiveEvent("payment", { timeout: "24h" })
      return { type, amount: payload.amount, eventId }
    })
    const { result } = await simulate(order, { events: [{ type: "payment", payload: { amount: 10 }, after: "1h", eventId: "p-1" }], seeds: 40 })
    expect(result).toEqual({ type: "payment", amount: 10, eventId: "p-1" })
  })

  it("finds a result with the time of an event, which a fault may delay", async () => {
    const order = workflow("order", async (ctx: Context<{ payment: undefined }>) => (await ctx.receiveEvent("payment")).receivedAt)
    const found = await simulate(order, { events: [{ type: "payment", after: "1h" }] }).catch((error: unknown) => error)
    expect(found).toBeInstanceOf(SimulationError)
    expect(found).toMatchObject({ kind: "result" })
  })

  it("finds a receiveEvent that is not awaited", async () => {
    const order = workflow("order", async (ctx: Context<{ payment: undefined }>) => {
      void ctx.receiveEvent("payment", { timeout: "1m" }).then
      return ctx.do("end", () => 1)
    })
    await expect(simulate(order, { seeds: 1 })).rejects.toMatchObject({ kind: "unawaited" })
  })
})
