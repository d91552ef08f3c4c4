// Random limits, keys, priorities, steps, sleeps, waits, controls and crashes. No limit is ever exceeded, no instance waits for a free slot, nothing is
// left behind, and all instances end.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { type Context, type Handle, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { memory } from "perdure/testing"
import { createTestEngine, type TestEngine } from "../src/testing/test-engine.ts"
import { afterAll, describe, expect, it } from "vitest"
import type { StoreProvider } from "../src/ports/store.ts"

const runs = process.env["LONG"] === "1" ? 300 : 40

type Move = "work" | "sleep" | "wait" | "fail" | "nest"

interface Job {
  readonly key: string
  readonly moves: readonly Move[]
}

interface Limits {
  readonly all: number | undefined
  readonly each: number | undefined
  readonly hold: "all" | "each" | "none"
  readonly rate: boolean
}

type Act =
  | { readonly do: "start"; readonly job: Job; readonly priority: number; readonly delayed: boolean }
  | { readonly do: "crash" | "skip" | "evict" }
  | { readonly do: "pause" | "resume" | "cancel" | "terminate" | "restart" | "event"; readonly which: number }
  | { readonly do: "set"; readonly all: number; readonly each: number }

const key = fc.constantFrom("a", "b", "c")
const moves = fc.array(fc.constantFrom<Move>("work", "work", "sleep", "wait", "fail", "nest"), { minLength: 1, maxLength: 4 })
const limit = fc.integer({ min: 1, max: 3 })

const limits: fc.Arbitrary<Limits> = fc.record({
  all: fc.option(limit, { nil: undefined }),
  each: fc.option(limit, { nil: undefined }),
  hold: fc.constantFrom("all", "each", "none", "none"),
  rate: fc.boolean(),
})

const start = fc.record({ do: fc.constant("start" as const), job: fc.record({ key, moves }), priority: fc.integer({ min: -1, max: 1 }), delayed: fc.boolean() })
const which = fc.nat(30)
const controls = ["pause", "resume", "cancel", "terminate", "restart", "event"] as const
const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: start },
    { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("crash" as const, "skip" as const, "evict" as const) }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constantFrom(...controls), which }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("set" as const), all: limit, each: limit }) },
  ),
  { minLength: 5, maxLength: 60 },
)

/** Counts the instances inside a step, by key and in all. Steps of a crashed engine do not count. */
class Crowd {
  readonly #inside = new Map<string, number>()
  readonly #exceeded: string[]
  readonly #bound: (key: string) => number

  constructor(exceeded: string[], bound: (key: string) => number) {
    this.#exceeded = exceeded
    this.#bound = bound
  }

  /** A step counts until its signal aborts: its instance has then ended. */
  async pass(keys: readonly string[], signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    let isInside = true
    const leave = () => {
      if (isInside) for (const one of keys) this.#change(one, -1)
      isInside = false
    }
    for (const one of keys) this.#change(one, 1)
    signal.addEventListener("abort", leave)
    try {
      await work()
    } finally {
      leave()
    }
  }

  #change(one: string, by: number): void {
    const inside = (this.#inside.get(one) ?? 0) + by
    this.#inside.set(one, inside)
    if (inside > this.#bound(one)) this.#exceeded.push(`${inside} of ${one}`)
  }
}

class Bed {
  readonly exceeded: string[] = []
  readonly handles: Handle[] = []
  readonly #limits: Limits
  /** The largest limit that was in force, because running instances may finish after a limit is lowered. */
  readonly #most: { all: number; each: number }
  readonly engine: Promise<TestEngine>
  #crowd = this.#newCrowd()

  constructor(spec: Limits, store: StoreProvider) {
    this.#limits = spec
    this.#most = { all: spec.all ?? Infinity, each: spec.each ?? Infinity }
    this.engine = createTestEngine({ workflows: [this.#workflow()], store, maxRecoveries: 1_000, retry: { maxAttempts: 2, initialInterval: "1s" } })
  }

  #newCrowd(): Crowd {
    return new Crowd(this.exceeded, (one) => (one === "all" ? this.#most.all : this.#most.each))
  }

  #options() {
    const { all, each, hold, rate } = this.#limits
    const concurrency = [
      ...(all === undefined ? [] : [{ limit: all, hold: hold === "all" }]),
      ...(each === undefined ? [] : [{ limit: each, hold: hold === "each", key: (input: Job) => input.key }]),
    ]
    return { concurrency, ...(rate ? { rateLimit: { limit: 2, per: "10s" as const } } : undefined) }
  }

  #workflow() {
    return workflow("flow", this.#options(), async (ctx: Context, input: Job) => {
      const pass = (signal: AbortSignal, work: () => Promise<void> = async () => undefined) => this.#crowd.pass(["all", input.key], signal, work)
      for (const [index, move] of input.moves.entries()) {
        const name = `${move} ${index}`
        if (move === "sleep") await ctx.sleep(name, "5s")
        else if (move === "wait") await ctx.waitForEvent(name, { type: "go", timeout: "1m", default: undefined })
        else if (move === "nest") {
          await ctx.do(name, async ({ step }) => {
            await step.do("inside", ({ signal }) => pass(signal))
            await step.sleep("nap", "2s")
          })
        } else
          await ctx.do(name, ({ attempt, signal }) =>
            pass(signal, async () => {
              await new Promise<void>((resolve) => setImmediate(resolve))
              if (move === "fail" && attempt === 1) throw new Error("again")
            }),
          )
      }
    })
  }

  async act(act: Act): Promise<void> {
    const engine = await this.engine
    switch (act.do) {
      case "start": {
        const { job, priority, delayed } = act
        this.handles.push(await engine.start("flow", { id: `i${this.handles.length}`, input: job, priority, ...(delayed ? { delay: "3s" } : undefined) }))
        return
      }
      case "crash":
        this.#crowd = this.#newCrowd()
        return engine.crash()
      case "skip":
        return engine.skip("4s")
      case "evict":
        for (const { id } of this.handles) await engine.evict(id)
        return
      case "set": {
        const wanted = [this.#limits.all === undefined ? undefined : act.all, this.#limits.each === undefined ? undefined : act.each]
        const concurrency = wanted.filter((one) => one !== undefined)
        if (concurrency.length === 0) return
        this.#most.all = Math.max(this.#most.all, act.all)
        this.#most.each = Math.max(this.#most.each, act.each)
        return engine.limits.set("flow", { concurrency })
      }
      default: {
        const handle = this.handles[act.which % Math.max(1, this.handles.length)]
        if (act.do === "event") await handle?.sendEvent("go").catch(() => undefined)
        else await handle?.[act.do]()
      }
    }
  }

  /** The limits that have a free slot while an instance waits for it. */
  async idleLimits(): Promise<string[]> {
    const { flow, directory } = (await this.engine).current.components.store
    const found: string[] = []
    for (const { id } of this.handles) {
      const row = await directory.get(id)
      const wait = row?.slots === "queuedForSlot" ? await flow.waitOf(id) : undefined
      if (wait?.use.kind === "concurrency" && wait.held < wait.max) found.push(`${id} waits for ${wait.use.key}, ${wait.held} of ${wait.max} are taken`)
    }
    return found
  }

  async drain(): Promise<Record<string, number>> {
    const engine = await this.engine
    for (let round = 0; round < 200; round++) {
      for (const handle of this.handles) if ((await handle.status()) === "paused") await handle.resume()
      await engine.skip("30s")
      const counts = await engine.count({}, "status")
      if (Object.keys(counts).every((status) => ["completed", "failed", "cancelled", "terminated"].includes(status))) return counts
    }
    return engine.count({}, "status")
  }

  /** How many instances run at once in the end. It equals the limits if no slot was lost. */
  async capacity(): Promise<number> {
    const engine = await this.engine
    const endless = workflow("flow", this.#options(), async (ctx: Context, _input: Job) => ctx.do("stay", () => new Promise<never>(() => undefined)))
    await engine.crash({ workflows: [endless] })
    for (const one of ["a", "b", "c"]) for (let n = 0; n < 4; n++) await engine.start(endless, { input: { key: one, moves: [] } })
    await engine.skip("1h")
    return (await engine.count({}, "status"))["running"] ?? 0
  }
}

async function check(provide: () => StoreProvider, spec: Limits, plan: readonly Act[]): Promise<void> {
  const bed = new Bed(spec, provide())
  const engine = await bed.engine
  try {
    for (const act of plan) {
      await bed.act(act)
      expect(await bed.idleLimits()).toEqual([])
    }
    await engine.settle()
    if (spec.all !== undefined || spec.each !== undefined || spec.rate) await engine.limits.reset("flow")
    const counts = await bed.drain()
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(bed.handles.length)
    expect(Object.keys(counts).filter((status) => !["completed", "failed", "cancelled", "terminated"].includes(status))).toEqual([])
    expect(bed.exceeded).toEqual([])
    const each = Math.min(spec.each ?? 4, 4)
    expect(await bed.capacity()).toBe(Math.min(spec.all ?? Infinity, 3 * each))
  } finally {
    await engine.close()
  }
}

const folder = mkdtempSync(join(tmpdir(), "perdure-flow-"))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

describe("flow control under random load", () => {
  it("keeps its limits and loses nothing, on memory", { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(limits, acts, (spec, plan) => check(memory, spec, plan)),
      { numRuns: runs },
    )
  })

  it("keeps its limits and loses nothing, on sqlite", { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(limits, acts, (spec, plan) => check(() => sqlite(join(folder, `${++files}.db`), { durability: "process" }), spec, plan)),
      { numRuns: runs / 2 },
    )
  })
})
