// A pause or a cancel that the caller writes itself, and what happens between its reads and its write.

import { expect, it } from "vitest"
import type { Context } from "../../core/workflow/context.ts"
import { type AnyWorkflow, workflow } from "../../core/workflow/workflow.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { Gate } from "../../testing/scenarios/gate.ts"
import { createTestEngine, type TestEngine } from "../../testing/test-engine.ts"
import { Engine } from "../engine.ts"
import { overriding } from "../method-overrides.ts"

/** Does some work after the first look through an inbox, as if that took long. */
function slowInbox(provider: StoreProvider, work: () => Promise<void>): StoreProvider {
  return {
    ...provider,
    open: async (context) => {
      const store = await provider.open(context)
      let isFirst = true
      return overriding(store, {
        journal: overriding(store.journal, {
          readInbox: async (...args) => {
            const messages = await store.journal.readInbox(...args)
            if (isFirst) {
              isFirst = false
              await work()
            }
            return messages
          },
        }),
      })
    },
  }
}

const openClient = ({ host }: TestEngine, store: StoreProvider, workflows: readonly AnyWorkflow[]) =>
  Engine.open({ host, store, workflows, options: {}, role: "client" })

it("a step that a worker begins while somebody pauses the instance is made once", async () => {
  const begun = new Gate()
  const gate = new Gate()
  const calls: number[] = []
  const pay = workflow("pay", async (ctx: Context) => {
    await ctx.sleep("nap", "1h")
    await ctx.do("charge", async ({ attempt }) => {
      calls.push(attempt)
      begun.open()
      await gate.passed
    })
  })
  await using engine = await createTestEngine({ workflows: [pay] })
  await engine.start(pay, { id: "i" })
  await engine.settle()
  const takeIt = async () => {
    void engine.skip("1h")
    await begun.passed
  }
  const client = await openClient(engine, slowInbox(engine.sharedStore, takeIt), [pay])
  expect(await client.get("i").pause()).toMatchObject({ accepted: true })
  gate.open()
  await engine.settle()
  expect([await engine.get("i").status(), calls]).toEqual(["paused", [1]])
  await engine.get("i").resume()
  await engine.settle()
  expect([await engine.get("i").status(), calls]).toEqual(["completed", [1]])
  await client.close()
})

it("a cancel that another caller writes while somebody pauses the instance is carried out", async () => {
  const nap = workflow("nap", async (ctx: Context) => ctx.sleep("nap", "1h"))
  await using engine = await createTestEngine({ workflows: [nap] })
  await engine.start(nap, { id: "i" })
  await engine.settle()
  await engine.close()
  const other = await openClient(engine, engine.sharedStore, [nap])
  const cancel = async () => {
    expect(await other.get("i").cancel()).toMatchObject({ accepted: true })
  }
  const client = await openClient(engine, slowInbox(engine.sharedStore, cancel), [nap])
  await client.get("i").pause()
  await engine.open()
  await engine.skip("1m")
  expect(await engine.get("i").status()).toBe("cancelled")
  await client.close()
  await other.close()
})

it("the crash of a worker is counted though the instance is paused and resumed before another worker loads it", async () => {
  const begun = new Gate()
  const calls: number[] = []
  const pay = workflow("pay", (ctx: Context) =>
    ctx.do("charge", async ({ attempt }) => {
      calls.push(attempt)
      begun.open()
      if (attempt === 1) await new Promise(() => undefined)
    }),
  )
  await using engine = await createTestEngine({ workflows: [], lease: "10s" })
  const open = () => Engine.open({ host: engine.host, store: engine.sharedStore, workflows: [pay], options: { lease: "10s" } })
  const dead = await open()
  await dead.start(pay, { id: "i" })
  await begun.passed
  dead.kill()
  await engine.skip("1m")
  const client = await openClient(engine, engine.sharedStore, [pay])
  // Whoever claims anything takes what dead workers own away from them.
  await client.components.store.journal.claim({ worker: "x", offers: [{ workflow: "none", version: "1" }], limit: 1, leaseMs: 1_000 })
  await client.get("i").pause()
  await client.get("i").resume()
  const next = await open()
  await engine.skip("1m")
  await client.get("i").result()
  expect(calls).toEqual([1, 2])
  expect((await client.get("i").history()).entries.map(({ type }) => type)).toContain("recovered")
  await client.close()
  await next.close()
})
