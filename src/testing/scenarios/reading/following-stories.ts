import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { PerdureError } from "../../../core/errors.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { Store, StoreProvider } from "../../../ports/store.ts"
import { overriding } from "../../../engine/method-overrides.ts"
import { Follower } from "../follower.ts"
import { noticed, openWithClient } from "../other-process.ts"
import type { OpenBed } from "../scenario-bed.ts"

const double = workflow("double", async (ctx, input: number) => ctx.do("work", () => input * 2))
const patient = workflow("patient", async (ctx: Context) => ctx.waitForEvent("word"))
const life = ["workflow.started", "step.started", "step.completed", "workflow.completed"]

/** Counts the reads of changes, and makes chosen reads fail. */
class ReadCount {
  reads = 0
  failures = 0
  failure: Error = new Error("the store has a hiccup")

  readonly wrap = (provider: StoreProvider): StoreProvider => ({
    name: provider.name,
    open: async (context) => {
      const store = await provider.open(context)
      const directory = overriding(store.directory, {
        changes: (after, limit, instance) => {
          this.reads++
          if (this.failures === 0) return store.directory.changes(after, limit, instance)
          this.failures--
          return Promise.reject(this.failure)
        },
      })
      return overriding<Store>(store, { directory })
    },
  })
}

export function followingStories(open: OpenBed): void {
  describe("following changes", () => {
    it("a thousand waiting readers read nothing while nothing happens, and share reads when something does", async () => {
      const count = new ReadCount()
      const engine = await open({ workflows: [double, patient], wrap: count.wrap, sweep: "5s" })
      await engine.start(patient, { id: "p" })
      await engine.settle()
      const all = Array.from({ length: 500 }, () => new Follower(engine.changes()))
      const own = Array.from({ length: 500 }, () => new Follower(engine.get("p").changes()))
      await engine.settle()
      await engine.settle()
      expect(all.every(({ seen }) => seen.length === 1)).toBe(true)
      count.reads = 0
      await engine.skip("1m")
      // Each sweep reads once for all followers.
      expect(count.reads).toBeLessThanOrEqual(13)
      count.reads = 0
      await engine.start(double, { id: "d", input: 1 })
      await engine.settle()
      await engine.settle()
      expect(all.every((follower) => follower.types("d").join() === life.join())).toBe(true)
      expect(own.every(({ seen }) => seen.length === 1)).toBe(true)
      expect(count.reads).toBeLessThanOrEqual(20)
      count.reads = 0
      await engine.sendEvent("p", "word")
      await engine.settle()
      const ending = ["workflow.started", "event.received", "event.consumed", "workflow.completed"]
      expect([...all, ...own].every((follower) => follower.types("p").join() === ending.join())).toBe(true)
      expect(count.reads).toBeLessThanOrEqual(20)
    })

    it("a reader that does not ask for more causes no reads, and later sees all changes", async () => {
      const count = new ReadCount()
      const engine = await open({ workflows: [double], wrap: count.wrap })
      await engine.start(double, { id: "i-0", input: 1 })
      await engine.settle()
      const slow = engine.changes()[Symbol.asyncIterator]()
      expect(await slow.next()).toMatchObject({ value: { instance: "i-0", type: "workflow.started" } })
      count.reads = 0
      for (let i = 1; i < 300; i++) await engine.start(double, { id: `i-${i}`, input: 1 })
      await engine.settle()
      expect(count.reads).toBe(0)
      const seen: string[] = []
      while (seen.length < 300 * 4 - 1) {
        const { value } = await slow.next()
        seen.push(`${value?.instance} ${value?.type}`)
      }
      expect(new Set(seen).size).toBe(seen.length)
      for (let i = 1; i < 300; i++) expect(seen.filter((one) => one.startsWith(`i-${i} `)).join()).toBe(life.map((type) => `i-${i} ${type}`).join())
    })

    it("sees what another process writes, and another process sees what is written here", async () => {
      const { engine, client } = await openWithClient(open, { workflows: [double, patient] }, [double, patient])
      const here = new Follower(engine.changes())
      const there = new Follower(client.changes())
      await client.start(double, { id: "d", input: 1 })
      await noticed(engine)
      await engine.skip("2s")
      expect(here.types("d")).toEqual(life)
      expect(there.types("d")).toEqual(life)
      await client.sendOrStart(patient, { id: "p", event: "word", payload: 1 })
      await engine.settle()
      expect(there.types("p")[0]).toBe("workflow.started")
      await client.close()
      expect(await there.over).toBeUndefined()
    })

    it("ends at once and for good when the reader stops, also while it waits", async () => {
      const engine = await open({ workflows: [double] })
      const early = engine.changes()[Symbol.asyncIterator]()
      const notYet = early.next()
      await early.return()
      expect(await notYet).toEqual({ done: true, value: undefined })
      const iterator = engine.changes()[Symbol.asyncIterator]()
      const waiting = iterator.next()
      await engine.settle()
      expect(await iterator.return()).toEqual({ done: true, value: undefined })
      expect(await waiting).toEqual({ done: true, value: undefined })
      await engine.start(double, { id: "d", input: 1 })
      await engine.settle()
      expect(await iterator.next()).toEqual({ done: true, value: undefined })
      for await (const { type } of engine.changes()) {
        expect(type).toBe("workflow.started")
        break
      }
    })

    it("ends in good order when the engine is closed, and none begins after that", async () => {
      const engine = await open({ workflows: [patient] })
      const handle = await engine.start(patient, { id: "p" })
      const { current } = engine
      const followers = [new Follower(current.changes()), new Follower(current.changes("latest")), new Follower(current.get("p").changes())]
      const lazy = current.changes()[Symbol.asyncIterator]()
      await engine.settle()
      await engine.close()
      for (const { over } of followers) expect(await over).toBeUndefined()
      expect(followers.map(({ seen }) => seen.length)).toEqual([1, 0, 1])
      expect(await lazy.next()).toEqual({ done: true, value: undefined })
      await expect(current.changes()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "ENGINE_CLOSED" })
      await expect(current.get(handle.id).changes()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "ENGINE_CLOSED" })
    })

    it("gets over a store that fails for a while", async () => {
      const count = new ReadCount()
      const engine = await open({ workflows: [double, patient], wrap: count.wrap })
      await engine.start(patient, { id: "p" })
      await engine.settle()
      const follower = new Follower(engine.changes())
      const own = new Follower(engine.get("p").changes())
      await engine.settle()
      count.failures = 4
      await engine.start(double, { id: "d", input: 1 })
      await engine.sendEvent("p", "word")
      await engine.skip("1m")
      expect(follower.types("d")).toEqual(life)
      expect(own.types("p")).toEqual(["workflow.started", "event.received", "event.consumed", "workflow.completed"])
    })

    it("fails for those who wait where what comes next cannot be read at all", async () => {
      const count = new ReadCount()
      const engine = await open({ workflows: [double, patient], wrap: count.wrap })
      await engine.start(patient, { id: "p" })
      await engine.settle()
      const follower = new Follower(engine.changes())
      await engine.settle()
      count.failure = new PerdureError("DATABASE_CORRUPT", "a row cannot be read")
      count.failures = 2
      await engine.start(double, { id: "d", input: 1 })
      expect(await follower.over).toMatchObject({ code: "DATABASE_CORRUPT" })
    })

    it("answers calls that do not wait for each other in their order", async () => {
      const engine = await open({ workflows: [double] })
      const iterator = engine.changes()[Symbol.asyncIterator]()
      const calls = Promise.all([iterator.next(), iterator.next(), iterator.next(), iterator.next()])
      await engine.start(double, { id: "d", input: 1 })
      expect((await calls).map(({ value }) => value?.type)).toEqual(life)
      await iterator.return()
    })

    it("does not keep workflows from their turn while it reads much", async () => {
      const engine = await open({ workflows: [double] })
      for (let i = 0; i < 500; i++) await engine.start(double, { id: `i-${i}`, input: 1 })
      await engine.settle()
      const follower = new Follower(engine.changes())
      expect(await (await engine.start(double, { id: "last", input: 21 })).result()).toBe(42)
      expect(follower.seen.length).toBeLessThan(2_000)
      await engine.settle()
    })
  })
}
