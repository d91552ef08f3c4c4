import { describe, expect, it } from "vitest"
import type { Context } from "../core/workflow/context.ts"
import { PerdureError } from "../core/errors.ts"
import { workflow, type AnyWorkflow } from "../core/workflow/workflow.ts"
import type { Handle } from "../client-api/client-api.ts"
import { simulate } from "./simulate.ts"
import type { Seed } from "./simulation/fault-plan.ts"
import type { SimulatedWorld } from "./simulation/simulated-world.ts"
import { SimulationError } from "./simulation/simulation-error.ts"

/** What the simulation finds; fails if it finds nothing. */
async function findingOf(simulating: Promise<unknown>): Promise<SimulationError> {
  const error = await simulating.then(
    (report) => new Error(`nothing was found: ${JSON.stringify(report)}`),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof SimulationError)) throw error
  return error
}

describe("workflows that are safe pass", () => {
  it("with steps, retries, sleeps, a wait and a race", async () => {
    const order = (world: SimulatedWorld) => {
      let failures = 0
      return workflow("order", async (ctx: Context<{ payment: { amount: number } }>, input: { items: string[] }) => {
        const reserved = await ctx.do("reserve", ({ idempotencyKey }) => world.effect("reserve", idempotencyKey) ?? input.items.length)
        const flaky = await ctx.do("flaky", () => {
          if (failures++ < 2) throw new Error("not yet")
          return "at last"
        })
        const payment = await ctx.waitForEvent("payment", { timeout: "24h", default: null })
        if (!payment) return { status: "unpaid" as const }
        await ctx.sleep("cool-off", "5m")
        const first = await Promise.race([ctx.sleep("slow", "2h").then(() => "slow"), ctx.sleep("fast", "1h").then(() => "fast")])
        const [a, b] = await Promise.all([ctx.do("a", () => "a"), ctx.do("b", async ({ step }) => step.do("inner", () => "b"))])
        return { status: "shipped" as const, reserved, flaky, first, both: a + b, amount: payment.amount }
      })
    }
    const report = await simulate(order, {
      input: { items: ["x", "y"] },
      events: [{ type: "payment", payload: { amount: 10 }, after: "1h" }],
      seeds: 60,
      faults: { delayEvents: "30m", downtime: "1m" },
      engine: { retry: { maxAttempts: 10 } },
    })
    expect(report.result).toEqual({ status: "shipped", reserved: 2, flaky: "at last", first: "fast", both: "ab", amount: 10 })
    expect(report.effects).toMatchObject({ 'effect "reserve"': 1, 'step "b/inner" of "simulated"': 1 })
    expect(report.crashes).toBeGreaterThan(100)
    expect(report.evictions).toBeGreaterThan(20)
    expect(report.runs).toBeGreaterThan(4 * report.writes + 60)
  })

  it("with children, whose effects count as well", async () => {
    const setup = (world: SimulatedWorld) => {
      const child = workflow("child", async (ctx, input: { n: number }) => {
        await ctx.sleep("nap", "1m")
        return ctx.do("double", ({ idempotencyKey }) => world.effect("double", idempotencyKey) ?? input.n * 2)
      })
      const parent = workflow("parent", async (ctx) => {
        const children = await Promise.all([1, 2, 3].map((n) => ctx.startChild(child, { input: { n } })))
        return Promise.all(children.map((one) => one.result()))
      })
      return [parent, child] as const
    }
    const report = await simulate(setup, { seeds: 40 })
    expect(report.result).toEqual([2, 4, 6])
    expect(report.effects['effect "double"']).toBe(3)
  })

  it("with a rollback, after a failure that is the same in every run", async () => {
    const setup = (world: SimulatedWorld) =>
      workflow("booking", async (ctx) => {
        const undo = (what: string, { idempotencyKey }: { idempotencyKey: string }) => world.effect(`undo ${what}`, idempotencyKey)
        await ctx.do("flight", () => "flight", { rollback: undo })
        await ctx.do("hotel", () => "hotel", { rollback: undo })
        await ctx.do("car", () => Promise.reject(new Error("no cars")), { retry: { maxAttempts: 2 } })
      })
    const report = await simulate(setup, { seeds: 40 })
    expect(report.status).toBe("failed")
    expect(report.effects).toMatchObject({ 'effect "undo flight"': 1, 'effect "undo hotel"': 1 })
  })

  it("with updates, queries and a cancel from outside", async () => {
    const cart = workflow("cart", async (ctx: Context) => {
      const items = new Map<string, Promise<string>>()
      ctx.setQueryHandler("items", () => [...items.keys()])
      ctx.setUpdateHandler("add", (item: string) => {
        const known = items.get(item) ?? ctx.do(`reserve ${item}`, () => item)
        items.set(item, known)
        return known
      })
      await ctx.waitForEvent("checkout")
      return [...items.keys()]
    })
    const passed = await simulate(cart, {
      actions: [
        { after: "1m", run: (handle) => handle.update("add", "pen") },
        { after: "2m", run: (handle) => handle.query("items") },
      ],
      events: [{ type: "checkout", after: "1h" }],
      seeds: 40,
    })
    expect(passed.result).toEqual(["pen"])
    const cancelled = await simulate(cart, { actions: [{ after: "5m", run: (handle) => handle.cancel("enough") }], seeds: 20 })
    expect(cancelled.status).toBe("cancelled")
  })

  it("with handlers of events and runs that continue as new", async () => {
    const counter = workflow("counter", async (ctx: Context<{ tick: number }>, { sum, round }: { sum: number; round: number }): Promise<number> => {
      let total = sum
      ctx.onEvent("tick", (by) => {
        total += by
      })
      await ctx.sleep("a while", "1h")
      if (round < 3) return ctx.continueAsNew({ sum: total, round: round + 1 })
      return total
    })
    const report = await simulate(counter, {
      input: { sum: 0, round: 1 },
      events: [10, 70, 130].map((minutes, index) => ({ type: "tick" as const, payload: index + 1, after: `${minutes}m` as const, eventId: String(minutes) })),
      seeds: 40,
    })
    expect(report.result).toBe(6)
  })

  it("whatever their steps draw from clock and chance: it is recorded", async () => {
    const stamped = workflow("stamped", async (ctx) => {
      const stamp = await ctx.do("stamp", () => ({ at: new Date(), now: Date.now(), chance: Math.random(), id: crypto.randomUUID() }))
      await ctx.sleep("a day", "1d")
      return { ...stamp, drawn: [ctx.random(), ctx.uuid()], now: stamp.now }
    })
    const { result } = await simulate(stamped, { seeds: 20, faults: { lostAcknowledgements: false } })
    expect(result.at.getTime()).toBe(result.now)
  })

  it("whose steps are slow, by virtual time or by real time, or hang until their timeout", async () => {
    const setup = (world: SimulatedWorld) =>
      workflow("slow", async (ctx) => {
        await ctx.do("virtual", () => world.sleep("10m"))
        await ctx.do("real", () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve))))
        return ctx.do("hangs", () => new Promise<string>(() => undefined), { timeout: "1m", retry: { maxAttempts: 1 } }).catch(() => "timed out")
      })
    const { result } = await simulate(setup, { seeds: 10 })
    expect(result).toBe("timed out")
  })
})

interface Mistake {
  readonly name: string
  readonly subject: AnyWorkflow | ((world: SimulatedWorld) => AnyWorkflow)
  readonly kind: SimulationError["kind"]
  readonly says: RegExp
}

let requests = 0

/** Each with one mistake that people make. */
const mistakes: readonly Mistake[] = [
  {
    name: "the clock decides a result",
    subject: workflow("clock", async (ctx) => {
      await ctx.do("a", () => 1)
      const at = Date.now()
      await ctx.do("b", () => 2)
      return at
    }),
    kind: "result",
    says: /workflow code calls Date\.now\(\).*simulate\.test\.ts:\d+.*use ctx\.now\(\)/s,
  },
  {
    name: "the clock decides which way the code goes",
    subject: workflow("branch", async (ctx) => {
      const deadline = ctx.now() + 60_000
      await ctx.do("a", () => 1)
      if (new Date().getTime() > deadline) await ctx.do("too late", () => 1)
      return "done"
    }),
    kind: "effects",
    says: /step "too late" of "simulated": once.*use new Date\(ctx\.now\(\)\)/s,
  },
  {
    name: "a step is named by the clock",
    subject: workflow("clock-name", async (ctx) => {
      await ctx.do("a", () => 1)
      await ctx.do(`b at ${Date.now()}`, () => 2)
      await ctx.do("c", () => 3)
    }),
    kind: "stalled",
    says: /Date\.now\(\)/,
  },
  {
    name: "chance decides between steps",
    subject: workflow("chance", async (ctx) => {
      await ctx.do(Math.random() < 0.5 ? "heads" : "tails", () => 1)
      await ctx.do("end", () => 1)
    }),
    kind: "effects",
    says: /Math\.random\(\).*use ctx\.random\(\)/s,
  },
  {
    name: "an id is made up outside a step",
    subject: workflow("uuid", async (ctx) => {
      const id = crypto.randomUUID()
      await ctx.sleep("s", "1h")
      return id
    }),
    kind: "result",
    says: /crypto\.randomUUID\(\).*use ctx\.uuid\(\)/s,
  },
  {
    name: "a step is not awaited",
    subject: workflow("floating", async (ctx) => {
      void ctx.do("mail", () => Promise.reject(new Error("down")))
      await ctx.do("end", () => 1)
    }),
    kind: "unawaited",
    says: /ctx\.do\("mail", …\).*is never awaited/,
  },
  {
    name: "an effect happens outside any step",
    subject: (world) =>
      workflow("outside", async (ctx) => {
        await ctx.do("a", () => 1)
        world.effect("send mail")
        await ctx.do("b", () => 1)
      }),
    kind: "effect outside steps",
    says: /effect "send mail" happens in workflow code.*do it in a step/s,
  },
  {
    name: "an effect is done without the step's key",
    subject: (world) =>
      workflow("keyless", async (ctx) => {
        await ctx.do("charge", () => world.effect("charge card"))
        await ctx.do("ship", ({ idempotencyKey }) => world.effect("ship", idempotencyKey))
      }),
    kind: "effects",
    says: /without: {2}effect "charge card": once.*with: {5}effect "charge card": 2 times.*idempotencyKey/s,
  },
  {
    name: "code remembers something besides its journal",
    subject: () => {
      let seen = 0
      return workflow("memory", async (ctx) => {
        seen++
        await ctx.do("a", () => 1)
        return seen
      })
    },
    kind: "result",
    says: /with: {5}completed with 2/,
  },
  {
    name: "code skips a step that it did before, because it remembers that",
    subject: () => {
      let cached: number | undefined
      return workflow("cache", async (ctx) => {
        cached ??= await ctx.do("look up", () => 7)
        return (await ctx.do("use", () => 1)) + cached
      })
    },
    kind: "stalled",
    says: /the journal has step "look up" at position 2, but the code asks for step "use"/,
  },
  {
    name: "something outside answers differently in every run",
    subject: workflow("outer", async (ctx) => ctx.do("count", () => ++requests)),
    kind: "result",
    says: /two runs without any fault differ.*fakes of its own/s,
  },
  {
    name: "code awaits something that does not come from ctx",
    subject: workflow("foreign", async (ctx) => {
      await ctx.do("a", () => 1)
      await new Promise(() => undefined)
    }),
    kind: "stalled",
    says: /await only what ctx gives/,
  },
  {
    name: "it waits for what nobody sends",
    subject: workflow("waiting", async (ctx: Context<{ approval: string }>) => ctx.waitForEvent("approval")),
    kind: "unended",
    says: /wait "approval" is for event "approval"/,
  },
  {
    name: "a step never answers",
    subject: workflow("hanging", async (ctx) => ctx.do("call", () => new Promise(() => undefined))),
    kind: "unended",
    says: /step "call" is running.*waits for something real/s,
  },
  {
    name: "it goes round for ever",
    subject: workflow("round", async (ctx) => {
      for (;;) await ctx.do("again", () => 1)
    }),
    kind: "unended",
    says: /something goes round for ever/,
  },
]

describe("a mistake is found and explained", () => {
  it.each(mistakes)("$name", async ({ subject, kind, says }) => {
    const error = await findingOf(simulate(typeof subject === "function" ? subject : () => subject, { seeds: 20 }))
    expect(error.kind).toBe(kind)
    expect(error.message).toMatch(says)
    expect(error.journal?.rows.length).toBeGreaterThan(0)
    expect(PerdureError.is(error, "SIMULATION_FAILED")).toBe(true)
  })

  it("an update that is sent again, because its answer was lost, is done again", async () => {
    const cart = workflow("cart", async (ctx: Context) => {
      let items = 0
      ctx.setUpdateHandler("add", () => ++items)
      await ctx.waitForEvent("checkout")
      return items
    })
    const actions = [{ after: "1m", run: (handle: Handle) => handle.update("add") }] as const
    const error = await findingOf(simulate(cart, { actions, events: [{ type: "checkout", after: "1h" }] }))
    expect(error).toMatchObject({ kind: "result", expected: "completed with 1", found: "completed with 2" })
  })

  it("an event that comes twice is taken for the next one", async () => {
    const two = workflow("two", async (ctx: Context<{ paid: number }>) => [await ctx.waitForEvent("paid"), await ctx.waitForEvent("paid")])
    const events = [1, 2].map((payload) => ({ type: "paid" as const, payload, after: `${payload}h` as const }))
    const error = await findingOf(simulate(two, { events }))
    expect(error).toMatchObject({ seed: "send every event twice", kind: "result", found: "completed with [1,1]", expected: "completed with [1,2]" })
    expect(error.message).toContain("give it an id")
    const known = events.map((event) => ({ ...event, eventId: String(event.payload) }))
    await expect(simulate(two, { events: known, seeds: 20 })).resolves.toMatchObject({ result: [1, 2] })
  })

  it("an event that comes late changes the result", async () => {
    const hasty = workflow("hasty", async (ctx: Context<{ go: true }>) => ctx.waitForEvent("go", { timeout: "10m", default: false }))
    const event = { type: "go", payload: true, after: "9m" } as const
    const error = await findingOf(simulate(hasty, { events: [event], faults: { delayEvents: "2m" } }))
    expect(error).toMatchObject({ seed: "send every event late", faults: ['event "go" came 120000 ms late'] })
    await expect(simulate(hasty, { events: [event], faults: { delayEvents: false }, seeds: 20 })).resolves.toMatchObject({ result: true })
  })

  it("only times differ, and that is said", async () => {
    const stamped = workflow("stamped", async (ctx) => ctx.do("a", () => 1).then(() => ({ a: 1, at: ctx.now() })))
    const error = await findingOf(simulate(stamped))
    expect(error.message).toContain("only times differ")
    await expect(simulate(stamped, { seeds: 20, comparable: ({ a }) => a })).resolves.toMatchObject({ status: "completed" })
  })
})

describe("a finding", () => {
  const once = (world: SimulatedWorld) => workflow("charge-card", async (ctx) => ctx.do("charge", () => world.effect("charge")))

  it("names a seed that shows it again, and only that", async () => {
    const { seed, message } = await findingOf(simulate(once))
    expect(message).toContain(`await simulate(chargeCard, { …, seeds: [${JSON.stringify(seed)}] })`)
    const seen: Seed[] = []
    const again = await findingOf(simulate(once, { seeds: [seed as Seed], onProgress: (progress) => seen.push(progress.seed) }))
    expect(again.message).toBe(message)
    expect(seen).toEqual([seed])
  })

  it("of a random seed is the same again", async () => {
    const keyed = workflow("pair", async (ctx: Context<{ a: number }>) => [await ctx.waitForEvent("a"), await ctx.waitForEvent("a")])
    const events = [1, 2].map((payload) => ({ type: "a" as const, payload, after: `${payload}m` as const }))
    const first = await findingOf(simulate(keyed, { events, seeds: [1, 2, 3, 4, 5, 6] }))
    expect(first.seed).toBeTypeOf("number")
    expect((await findingOf(simulate(keyed, { events, seeds: [first.seed as number] }))).message).toBe(first.message)
  })

  it("is not made where its fault is left out", async () => {
    await expect(simulate(once, { faults: { crashes: false }, seeds: 20 })).resolves.toMatchObject({ crashes: 0, effects: { 'effect "charge"': 1 } })
  })
})

describe("what is wrong with the call itself", () => {
  const plain = workflow("plain", async (ctx, input: number) => ctx.do("a", () => input))

  it("a seed that is none is refused", async () => {
    await expect(simulate(plain, { input: 1, seeds: ["crash behind write 1" as Seed] })).rejects.toMatchObject({ code: "BAD_OPTION" })
  })

  it("an input that cannot be stored is refused as start does", async () => {
    await expect(simulate(plain, { input: (() => 1) as never })).rejects.toMatchObject({ code: "UNSERIALIZABLE" })
  })

  it("clock and chance are the platform's own afterwards, and for everybody else meanwhile", async () => {
    const { now } = Date
    const simulating = simulate(plain, { input: 1, seeds: 5 })
    expect(Math.abs(Date.now() - new Date().getTime())).toBeLessThan(1_000)
    expect(Date.now()).toBeGreaterThan(1_700_000_000_000)
    await simulating
    expect(Date.now).toBe(now)
    expect(new Date()).toBeInstanceOf(Date)
  })
})
