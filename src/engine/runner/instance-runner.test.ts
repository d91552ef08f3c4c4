import { describe, expect, it } from "vitest"
import { type Context, workflow } from "../../index.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { createTestEngine } from "../../testing/test-engine.ts"
import { Gate } from "../../testing/scenarios/gate.ts"

const types = async (handle: { history(options: { limit: number }): Promise<{ entries: readonly { type: string }[] }> }) =>
  (await handle.history({ limit: 100 })).entries.map(({ type }) => type)

describe("an instance whose engine closes", () => {
  it.each(["wait", "sleep"] as const)("just after a branch beside a %s got a result continues when it is opened again", async (beside) => {
    const store = memory()
    const gate = new Gate()
    const ran: string[] = []
    const flow = workflow("flow", async (ctx: Context) => {
      const branch = async () => {
        await ctx.do("a", () => gate.passed)
        await ctx.do("b", () => void ran.push("b"))
      }
      await Promise.all([branch(), beside === "wait" ? ctx.waitForEvent("w") : ctx.sleep("s", "7d")])
    })
    const first = await createTestEngine({ workflows: [flow], store })
    await first.start(flow, { id: "i" })
    await first.settle()
    const { worker } = first.current.components
    const closing = first.close()
    while (!worker.draining) await first.settle()
    gate.open()
    await closing
    const second = await createTestEngine({ workflows: [flow], store, startAt: first.now(), seed: "second" })
    await second.settle()
    expect(ran).toEqual(["b"])
    await second.close()
  })
})

describe("an ask that the code gives up", () => {
  it("because another event arrived consumes no event", async () => {
    const gate = new Gate()
    const flow = workflow("flow", async (ctx: Context) => {
      await ctx.do("first", () => gate.passed)
      const givingUp = new AbortController()
      const seen = ctx.waitForEvent("a")
      const other = ctx.waitForEvent("b", { signal: givingUp.signal }).catch(() => "gave up")
      await seen
      givingUp.abort(new Error("no more"))
      return [await other, await ctx.waitForEvent("again", { type: "b", timeout: "1h", default: "nothing" })]
    })
    await using engine = await createTestEngine({ workflows: [flow] })
    const handle = await engine.start(flow, { id: "i" })
    await engine.settle()
    await engine.sendEvent("i", "a", 1)
    gate.open()
    await engine.settle()
    await engine.sendEvent("i", "b", "the event")
    expect(await handle.result()).toEqual(["gave up", "the event"])
  })

  it("is recorded once, however often the instance is loaded", async () => {
    const flow = workflow("flow", async (ctx: Context) => {
      const givingUp = new AbortController()
      const sleep = ctx.sleep("s", "1d", { signal: givingUp.signal }).catch(() => undefined)
      await ctx.do("a", () => 1)
      givingUp.abort()
      await sleep
      await ctx.waitForEvent("w")
    })
    await using engine = await createTestEngine({ workflows: [flow] })
    const handle = await engine.start(flow, { id: "i" })
    for (let load = 0; load < 3; load++) {
      await engine.evict("i")
      await engine.sendEvent("i", "other")
    }
    expect((await types(handle)).filter((type) => type === "ask.aborted")).toHaveLength(1)
  })

  it("inside a step while its event is being written still gets the event", async () => {
    const givingUp = new AbortController()
    const flow = workflow("flow", (ctx: Context) => ctx.do("outer", ({ step }) => step.waitForEvent("w", { signal: givingUp.signal })))
    const hold: { gate?: Gate } = {}
    await using engine = await createTestEngine({ workflows: [flow], store: slowCommits(() => hold.gate?.passed) })
    const handle = await engine.start(flow, { id: "i" })
    await engine.settle()
    hold.gate = new Gate()
    await handle.sendEvent("w", "the event")
    for (let hop = 0; hop < 5; hop++) await new Promise((resolve) => setImmediate(resolve))
    givingUp.abort(new Error("too late"))
    hold.gate.open()
    expect(await handle.result()).toBe("the event")
  })
})

describe("hooks", () => {
  it("that a deploy has removed are not waited for", async () => {
    const code = (ctx: Context) => ctx.do("a", () => 1)
    const withHook = workflow("flow", { onCompleted: () => new Promise(() => undefined) }, code)
    let claims = 0
    const engine = await createTestEngine({ workflows: [withHook], store: countedClaims(() => claims++) })
    const handle = await engine.start(withHook, { id: "i" })
    await engine.settle()
    claims = 0
    await engine.crash({ workflows: [workflow("flow", {}, code)] })
    expect(claims).toBeLessThan(10)
    expect((await types(handle)).at(-1)).toBe("hook.completed")
    await engine.close()
  })

  it("that take longer than an idle instance stays in memory are called once", async () => {
    let calls = 0
    let wait: (ms: number) => Promise<void> = () => Promise.resolve()
    const onCompleted = () => {
      calls++
      return wait(90_000)
    }
    const flow = workflow("flow", { onCompleted }, (ctx: Context) => ctx.do("a", () => 1))
    await using engine = await createTestEngine({ workflows: [flow], sweep: "5s" })
    wait = (ms) => new Promise((resolve) => engine.host.setTimer(engine.now() + ms, resolve))
    await engine.start(flow)
    await engine.skip("20m")
    expect(calls).toBe(1)
  })
})

describe("a crash", () => {
  it("that is caused by code outside steps is counted before the code runs again", async () => {
    let lethal: (() => void) | undefined
    let entered = 0
    const flow = workflow("flow", async (ctx: Context) => {
      entered++
      lethal?.()
      await ctx.do("a", () => new Promise<never>(() => undefined))
    })
    const engine = await createTestEngine({ workflows: [flow], maxRecoveries: 3 })
    const handle = await engine.start(flow, { id: "i" })
    await engine.settle()
    lethal = () => engine.current.kill()
    for (let crash = 0; crash < 10; crash++) await engine.crash()
    expect(await handle.status()).toBe("stalled")
    expect(entered).toBe(4)
    lethal = undefined
    await engine.close()
  })
})

describe("a cancelled instance", () => {
  it("tries a clean-up step that fails again", async () => {
    let calls = 0
    const flow = workflow("flow", async (ctx: Context) => {
      try {
        await ctx.sleep("s", "1d")
      } finally {
        await ctx.do("refund", () => {
          if (++calls === 1) throw new Error("not now")
        })
      }
    })
    await using engine = await createTestEngine({ workflows: [flow] })
    const handle = await engine.start(flow)
    await engine.settle()
    await handle.cancel()
    await engine.skip("20s")
    expect(calls).toBe(2)
    expect(await handle.status()).toBe("cancelled")
  })
})

describe("instances that sleep inside steps", () => {
  it("leave memory if others need the room, and run again when they are due", async () => {
    const nap = workflow("nap", (ctx: Context) =>
      ctx.do("outer", async ({ step, attempt }) => {
        await step.sleep("long", "30d")
        return attempt
      }),
    )
    const quick = workflow("quick", (ctx: Context) => ctx.do("a", () => 1))
    await using engine = await createTestEngine({ workflows: [nap, quick], maxResidentInstances: 3 })
    const naps = await Promise.all([1, 2, 3].map(() => engine.start(nap)))
    await engine.settle()
    const handle = await engine.start(quick)
    await engine.settle()
    expect(await handle.status()).toBe("completed")
    await engine.skip("31d")
    for (const each of naps) expect(await each.result()).toBe(1)
  })
})

function slowCommits(until: () => Promise<unknown> | undefined): StoreProvider {
  return wrapped(memory(), (journal) => {
    const commit = journal.commit.bind(journal)
    journal.commit = async (turns) => {
      await until()
      return commit(turns)
    }
  })
}

function countedClaims(count: () => void): StoreProvider {
  return wrapped(memory(), (journal) => {
    const claim = journal.claim.bind(journal)
    journal.claim = (request) => {
      count()
      return claim(request)
    }
  })
}

type Journal = Awaited<ReturnType<StoreProvider["open"]>>["journal"]

function wrapped(provider: StoreProvider, change: (journal: Journal) => void): StoreProvider {
  return {
    name: provider.name,
    open: async (context) => {
      const store = await provider.open(context)
      change(store.journal)
      return store
    },
  }
}
