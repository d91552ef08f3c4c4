import { expect, it } from "vitest"
import { workflow, type Context } from "../../index.ts"
import type { Directory } from "../../ports/directory.ts"
import type { Logger } from "../../ports/host.ts"
import type { JournalStore } from "../../ports/journal-store.ts"
import type { StoreProvider } from "../../ports/store.ts"
import { PerdureError } from "../../core/errors.ts"
import { macrotask } from "../../hosts/simulated/simulated-host.ts"
import { memory } from "../../stores/memory/memory-provider.ts"
import { Gate } from "../../testing/scenarios/gate.ts"
import { createTestEngine } from "../../testing/test-engine.ts"

type Trouble = (name: keyof JournalStore | keyof Directory, args: readonly unknown[]) => Promise<void> | undefined

/** A store that asks the test before every call: the test may delay the call, or let it fail. */
const troubled = (trouble: Trouble, inner = memory()): StoreProvider => ({
  name: "troubled",
  open: async (context) => {
    const store = await inner.open(context)
    const wrapped = <T extends object>(port: T): T =>
      new Proxy(port, {
        get: (target, name) => {
          const method: unknown = Reflect.get(target, name)
          if (typeof method !== "function") return method
          return async (...args: unknown[]) => {
            await trouble(name as keyof JournalStore, args)
            return Reflect.apply(method, target, args) as unknown
          }
        },
      })
    return {
      journal: wrapped(store.journal),
      directory: wrapped(store.directory),
      schedules: store.schedules,
      flow: store.flow,
      role: store.role,
      standBy: () => store.standBy(),
      onHint: (listener) => store.onHint(listener),
      close: () => store.close(),
    }
  },
})

const moment = () => new Promise<void>((resolve) => macrotask(resolve))

it("an inbox that cannot be read does not affect other inboxes", async () => {
  const seen: string[] = []
  const flow = workflow("flow", async (ctx: Context) => {
    const long = ctx.do("long", ({ signal, attempt }) => {
      seen.push(`${ctx.instance.id} ${attempt}`)
      signal.addEventListener("abort", () => seen.push(`${ctx.instance.id} aborted`))
      return new Promise<never>(() => undefined)
    })
    await Promise.all([long, ctx.waitForEvent("x")])
  })
  let isBroken = false
  const store = troubled((name, [ids]) =>
    isBroken && name === "readInbox" && (ids as string[]).includes("bad") ? Promise.reject(new Error("damaged")) : undefined,
  )
  await using engine = await createTestEngine({ workflows: [flow], store })
  const good = await engine.start(flow, { id: "good" })
  await engine.start(flow, { id: "bad" })
  await engine.settle()
  isBroken = true
  await Promise.all([good.sendEvent("x"), engine.get("bad").sendEvent("x")])
  await engine.skip("30s")
  expect(seen.filter((line) => line.startsWith("good"))).toEqual(["good 1"])
  expect((await good.steps()).map(({ id, status }) => `${id} ${status}`)).toEqual(["long running", "x completed"])
  isBroken = false
  await engine.skip("30s")
  expect((await engine.get("bad").steps()).map(({ id, status }) => `${id} ${status}`)).toEqual(["long running", "x completed"])
})

it("an inbox that cannot be read for a moment is read again, and running attempts continue", async () => {
  const calls: number[] = []
  const flow = workflow("flow", async (ctx: Context) => {
    const [, word] = await Promise.all([ctx.do("long", ({ attempt }) => (calls.push(attempt), gate.passed)), ctx.waitForEvent("x")])
    return word
  })
  const gate = new Gate()
  let failures = 0
  const store = troubled((name) => (name === "readInbox" && failures-- > 0 ? Promise.reject(new Error("busy")) : undefined))
  await using engine = await createTestEngine({ workflows: [flow], store })
  const handle = await engine.start(flow, { id: "i" })
  await engine.settle()
  failures = 3
  await handle.sendEvent("x", "word")
  await engine.skip("5s")
  gate.open()
  expect(await handle.result()).toBe("word")
  expect(calls).toEqual([1])
})

it("a caller keeps waiting for a result when a poll of the store fails", async () => {
  const flow = workflow("flow", async (ctx: Context) => {
    await ctx.sleep("s", "1h")
    return 1
  })
  let isBroken = false
  const store = troubled((name) => (isBroken && name === "get" ? Promise.reject(new Error("busy")) : undefined))
  await using engine = await createTestEngine({ workflows: [flow], store, sweep: "5s" })
  const handle = await engine.start(flow, { id: "i" })
  await engine.settle()
  const result = handle.result()
  await engine.settle()
  isBroken = true
  await engine.skip("6s")
  await expect(handle.result()).rejects.toThrow("busy")
  isBroken = false
  await engine.skip("2h")
  expect(await result).toBe(1)
})

it("a delayed release does not release an instance that is resident again", async () => {
  const begun: number[] = []
  const flow = workflow("flow", async (ctx: Context) => {
    await ctx.do("quick", () => 1)
    return ctx.do("a", ({ attempt }) => {
      begun.push(attempt)
      return new Promise<never>(() => undefined)
    })
  })
  await using engine = await createTestEngine({ workflows: [flow], sweep: "100ms" })
  await engine.start(flow, { id: "i" })
  await engine.settle()
  const { worker } = engine.current.components
  worker.onLost(worker.residents.get("i")!, new Error("a read failed"))
  await engine.skip("5s")
  expect(begun).toEqual([1, 2])
})

it("a start whose instance is being loaded loses, and the instance runs once", async () => {
  const inner = memory()
  const seen: string[] = []
  const flow = workflow("flow", async (ctx: Context) =>
    ctx.do("a", ({ attempt, signal }) => {
      seen.push(`begun ${attempt}`)
      signal.addEventListener("abort", () => seen.push("aborted"))
      return new Promise<never>(() => undefined)
    }),
  )
  const first = await createTestEngine({ workflows: [flow], store: inner })
  await first.start(flow, { id: "i" })
  await first.close()
  seen.length = 0
  const gate = new Gate()
  const store = troubled((name) => (name === "readJournal" ? gate.passed : undefined), inner)
  const second = await createTestEngine({ workflows: [flow], store, startAt: first.host.now(), seed: "two" })
  const { worker } = second.current.components
  await moment()
  const again = second.start(flow, { id: "i", ifExists: "return" })
  while (!worker.isResident("i")) await Promise.resolve()
  gate.open()
  await again
  await second.skip("5s")
  expect(seen).toEqual(["begun 2"])
  await second.close()
})

it("messages sent together with one that is too large are delivered", async () => {
  const flow = workflow("flow", async (ctx: Context) => ctx.waitForEvent("x"))
  const store = troubled((name, [messages]) => {
    if (name !== "deliver" || !(messages as { payload: string }[]).some(({ payload }) => payload.includes("huge"))) return undefined
    return Promise.reject(new PerdureError("DISK_FULL", "there is no room"))
  })
  await using engine = await createTestEngine({ workflows: [flow], store })
  for (const id of ["a", "b"]) await engine.start(flow, { id })
  const [good, bad] = await Promise.allSettled([engine.get("a").sendEvent("x", "small"), engine.get("b").sendEvent("x", "huge")])
  expect(good.status).toBe("fulfilled")
  expect(bad).toMatchObject({ reason: { code: "DISK_FULL" } })
  expect(await engine.get("a").result()).toBe("small")
})

it("a logger that throws has no effect on instances", async () => {
  const flow = workflow("flow", async (ctx: Context) => ctx.do("a", () => 1))
  let failures = 0
  const store = troubled((name) => (name === "commit" && failures-- > 0 ? Promise.reject(new Error("full")) : undefined))
  const fail = () => {
    throw new Error("the logger is broken")
  }
  const log: Logger = { debug: fail, info: fail, warn: fail, error: fail }
  await using engine = await createTestEngine({ workflows: [flow], store, log })
  const first = await engine.start(flow, { id: "i" })
  failures = 1
  await engine.skip("5s")
  const second = await engine.start(flow, { id: "j" })
  expect([await first.result(), await second.result()]).toEqual([1, 1])
})
