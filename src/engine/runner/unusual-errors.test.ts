import { type Context, workflow } from "perdure"
import { createTestEngine } from "perdure/testing"
import { describe, expect, it } from "vitest"
import type { Engine } from "../engine.ts"

/** Plain data that a store can hold, but that `String` cannot convert. */
const odd: [string, object][] = [
  ["without a prototype", Object.assign(Object.create(null) as object, { a: 1 })],
  ["with a toString that is no function", { toString: 1, valueOf: 1 }],
]

async function changesUntil(engine: Pick<Engine, "changes">, type: string): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const change of engine.changes()) {
    found.push([change.type, change.data.error?.message])
    if (change.type === type) break
  }
  return found
}

describe.each(odd)("an object %s that is thrown", (_, thrown) => {
  const fail = () => {
    throw thrown as Error
  }

  it("by a step makes the step retry, and then fails it with a readable error", async () => {
    const flow = workflow("flow", async (ctx: Context) => ctx.do("a", fail, { retry: { maxAttempts: 2, initialInterval: "1m" } }))
    await using engine = await createTestEngine({ workflows: [flow] })
    const handle = await engine.start(flow, { id: "i" })
    await engine.settle()
    expect((await handle.why()).because[0]).toContain('step "a" failed (attempt 1: [object Object])')
    await engine.skip("2m")
    expect(await handle.status()).toBe("failed")
    expect((await handle.why()).because[0]).toContain('step "a" failed after 2 attempts: [object Object]')
    expect(await changesUntil(engine.current, "workflow.failed")).toContainEqual(["retry.exhausted", "[object Object]"])
  })

  it("by a workflow fails the instance with a readable error", async () => {
    const flow = workflow("flow", async () => fail())
    await using engine = await createTestEngine({ workflows: [flow] })
    const handle = await engine.start(flow, { id: "i" })
    await engine.settle()
    expect((await handle.why()).because[0]).toContain("failed at")
    expect(await changesUntil(engine.current, "workflow.failed")).toContainEqual(["workflow.failed", "[object Object]"])
  })

  it("instead of making a recorded ask stalls the instance", async () => {
    let isChanged = false
    const flow = workflow("flow", async (ctx: Context) => {
      if (isChanged) fail()
      await ctx.sleep("nap", "1h")
    })
    await using engine = await createTestEngine({ workflows: [flow] })
    const handle = await engine.start(flow, { id: "i" })
    await engine.settle()
    isChanged = true
    await engine.crash()
    await engine.skip("2h")
    expect(await handle.status()).toBe("stalled")
    expect((await handle.why()).because[0]).toContain("but the code throws [object Object] instead of asking for it")
  })
})
