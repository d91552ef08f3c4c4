// The workflows of examples/getting-started, in virtual time. test/crash/example.test.ts runs the program itself.

import { createTestEngine } from "perdure/testing"
import { describe, expect, it } from "vitest"
import { order, test } from "../examples/getting-started/workflows.ts"

describe("the test workflow of the example", () => {
  it("greets, sleeps five seconds, and says that it was approved", async () => {
    await using engine = await createTestEngine({ workflows: [test] })
    const handle = await engine.start(test, { id: "a", input: { name: "World" } })
    await engine.settle()
    expect(await handle.status()).toBe("sleeping")
    await engine.skip("5s")
    expect(await handle.status()).toBe("waiting")
    await engine.sendEvent("a", "approval", { approved: true })
    expect(JSON.stringify(await handle.result())).toBe(`{"message":"World was approved","greeting":"Hello, World!"}`)
  })

  it("takes an approval that comes before it is waited for", async () => {
    await using engine = await createTestEngine({ workflows: [test] })
    const handle = await engine.start(test, { id: "a", input: { name: "World" } })
    await engine.sendEvent("a", "approval", { approved: true })
    await engine.skip("5s")
    expect(await handle.result()).toEqual({ message: "World was approved", greeting: "Hello, World!" })
  })

  it("is not approved when it is refused, or when nobody answers for a minute", async () => {
    await using engine = await createTestEngine({ workflows: [test] })
    const refused = await engine.start(test, { id: "a", input: { name: "Ada" } })
    const ignored = await engine.start(test, { id: "b", input: { name: "Bob" } })
    await engine.sendEvent("a", "approval", { approved: false })
    await engine.skip("65s")
    expect((await refused.result()).message).toBe("Ada was not approved")
    expect((await ignored.result()).message).toBe("Bob was not approved")
  })
})

describe("the order workflow of the example", () => {
  it("waits for the payment, and ships at the third attempt", async () => {
    await using engine = await createTestEngine({ workflows: [order] })
    const handle = await engine.start(order, { id: "a", input: { items: ["lamp"] } })
    await engine.settle()
    expect(await handle.status()).toBe("waiting")
    await engine.sendEvent("a", "payment", { amount: 129 })
    await engine.skipToEnd("a")
    expect(await handle.result()).toEqual({ status: "shipped", paid: 129, tracking: expect.stringMatching(/^A7-[0-9a-f]{8}$/) })
    const ship = (await handle.steps()).find(({ name }) => name === "ship")
    expect(ship).toMatchObject({ status: "completed", attempts: 3 })
  })

  it("goes on after a crash at any of its moments, without doing anything twice", async () => {
    await using engine = await createTestEngine({ workflows: [order] })
    let reservations = 0
    engine.mockStep(order, "reserve", () => ({ items: ["lamp"], shelf: `A${++reservations}` }))
    const handle = await engine.start(order, { id: "a", input: { items: ["lamp"] } })
    await engine.settle()
    await engine.crash()
    await engine.sendEvent("a", "payment", { amount: 129 })
    await engine.crash()
    await engine.skip("2s")
    await engine.crash()
    await engine.skipToEnd("a")
    expect(await handle.result()).toMatchObject({ status: "shipped", tracking: expect.stringMatching(/^A1-/) })
    expect(reservations).toBe(1)
  })

  it("is cancelled when nobody pays for a day", async () => {
    await using engine = await createTestEngine({ workflows: [order] })
    const handle = await engine.start(order, { id: "a", input: { items: ["lamp"] } })
    await engine.skip("24h")
    expect(await handle.result()).toEqual({ status: "cancelled" })
  })
})
