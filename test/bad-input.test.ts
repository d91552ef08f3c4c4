// Mistakes of callers and of workflow code. Each gets an error code and a message with advice, and nothing is lost.

import { type Client, type Context, PerdureError, workflow } from "perdure"
import { createTestEngine, type TestEngine, type TestEngineOptions } from "../src/testing/test-engine.ts"
import { afterEach, describe, expect, it } from "vitest"
import * as z from "zod"

const engines: TestEngine[] = []
const open = async (options: TestEngineOptions) => {
  const engine = await createTestEngine(options)
  engines.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
})

const refusal = async (promise: Promise<unknown>): Promise<PerdureError> => {
  const error = await promise.then(
    (value) => new Error(`not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  expect(error).toSatisfy((value) => PerdureError.is(value))
  return error as PerdureError
}

const echo = workflow("echo", async (_ctx: Context, input: unknown) => input)
const waiting = workflow("waiting", async (ctx) => ctx.waitForEvent("word"))

const order = workflow(
  "order",
  {
    input: z.object({ id: z.string(), items: z.array(z.object({ price: z.number().positive() })), at: z.coerce.date() }),
    events: { payment: z.object({ amount: z.number() }) },
  },
  async (ctx, input) => {
    const { amount } = await ctx.waitForEvent("payment")
    return { at: input.at, amount }
  },
)

describe("start", () => {
  it("of an unknown workflow names those that there are, and where to register", async () => {
    const engine = await open({ workflows: [echo, waiting] })
    const error = await refusal(engine.start("nothing"))
    expect(error.code).toBe("UNKNOWN_WORKFLOW")
    expect(error.message).toBe('this engine has no workflow "nothing"; it knows "echo", "waiting". Pass it to Perdure.open({ workflows: […] })')
    expect((await engine.list()).instances).toEqual([])
  })

  it("of a workflow that this engine lacks waits for one that has it, and why says so", async () => {
    const engine = await open({ workflows: [echo] })
    const handle = await engine.start(waiting, { id: "i" })
    await engine.skip("1h")
    expect(await handle.status()).toBe("queued")
    expect((await handle.why()).because[0]).toContain('no worker here has version "1" of workflow "waiting"')
    await engine.crash({ workflows: [echo, waiting] })
    expect(await handle.status()).toBe("waiting")
  })

  it("with input against the schema shows every issue with its path", async () => {
    const engine = await open({ workflows: [order] })
    const input = { id: 5, items: [{ price: 1 }, { price: -1 }], at: "2026-01-01" } as unknown as { id: string; items: { price: number }[]; at: unknown }
    const error = await refusal(engine.start(order, { id: "i", input }))
    expect(error.code).toBe("INVALID_INPUT")
    expect(error.message).toContain('the input of workflow "order" is not valid: id: ')
    expect(error.message).toContain("items[1].price: ")
    expect((error.details["issues"] as { path: string }[]).map(({ path }) => path)).toEqual(["id", "items[1].price"])
    await expect(engine.get("i").status()).rejects.toMatchObject({ code: "NOT_FOUND" })
    const nothing = await refusal(engine.start("order", { id: "i" }))
    expect(nothing.code).toBe("INVALID_INPUT")
  })

  it("gives the workflow what the schema makes of the input", async () => {
    const engine = await open({ workflows: [order] })
    const handle = await engine.start(order, { id: "i", input: { id: "1", items: [], at: "2026-01-01T00:00:00Z" } })
    await engine.sendEvent("i", "payment", { amount: 5, extra: "is stripped" })
    expect(await handle.result()).toEqual({ at: new Date("2026-01-01T00:00:00Z"), amount: 5 })
  })

  it("with input that cannot be stored names the path inside it", async () => {
    const engine = await open({ workflows: [echo] })
    class Money {
      amount = 1
    }
    const cases: [unknown, string][] = [
      [{ list: [1, { callback: () => 1 }] }, "input.list[1].callback"],
      [new Map([["key", Symbol("s")]]), "input"],
      [{ price: new Money() }, "input.price"],
      [Promise.resolve(1), "input"],
    ]
    for (const [input, path] of cases) {
      const error = await refusal(engine.start(echo, { id: "i", input }))
      expect(error.code).toBe("UNSERIALIZABLE")
      expect(error.details["path"]).toContain(path)
      expect(error.message).toContain(path)
    }
    expect(await (await engine.start(echo, { id: "i", input: 1 })).result()).toBe(1)
  })

  it("with input that is too large names the limit and a way out", async () => {
    const engine = await open({ workflows: [echo] })
    const error = await refusal(engine.start(echo, { id: "i", input: "x".repeat(8 * 1024 * 1024) }))
    expect(error.code).toBe("PAYLOAD_TOO_LARGE")
    expect(error.message).toMatch(/^input has 8388610 bytes when encoded, more than the 8388608 allowed; store it elsewhere and pass a reference/)
    expect((await engine.list()).instances).toEqual([])
  })

  it("with a bad id says what is wrong with it", async () => {
    const engine = await open({ workflows: [echo] })
    const cases: [string, RegExp][] = [
      ["", /is empty/],
      ["a b", /contains " " at character 2; an id begins .* has up to 256 letters, digits and . _ : @ - ~ = ,$/],
      ["a/b", /contains "\/"/],
      ["-a", /begins with "-"; an id begins with a letter .*, a digit or _/],
      ["é", /contains "é"/],
      ["x".repeat(257), /has 257 characters; at most 256/],
      [5 as unknown as string, /is not a string/],
    ]
    for (const [id, message] of cases) {
      const error = await refusal(engine.start(echo, { id }))
      expect(error.code).toBe("BAD_ID")
      expect(error.message).toMatch(message)
    }
    for (const id of ["x".repeat(256), "_a.b:c@d-e", "0", "b3JkZXI=", "tenant=acme,order=17~b"]) expect((await engine.start(echo, { id })).id).toBe(id)
  })

  it("with an id that exists says how to get the instance, and leaves it alone", async () => {
    const engine = await open({ workflows: [echo, waiting] })
    const handle = await engine.start(waiting, { id: "i" })
    const exists = await refusal(engine.start(waiting, { id: "i" }))
    expect(exists.code).toBe("ID_EXISTS")
    expect(exists.message).toBe('instance "i" exists; choose another id, or say ifExists: "return" to get it')
    const conflict = await refusal(engine.start(echo, { id: "i", input: 2, ifExists: "return" }))
    expect(conflict.code).toBe("ID_CONFLICT")
    expect(conflict.message).toContain('"i"')
    await engine.sendEvent("i", "word", "still there")
    expect(await handle.result()).toBe("still there")
  })

  it("with a bad duration, time or tag says what is accepted", async () => {
    const engine = await open({ workflows: [echo] })
    expect((await refusal(engine.start(echo, { delay: -5 }))).message).toMatch(/^delay: -5 is negative; use milliseconds/)
    for (const delay of ["soon", "5 parsecs", -1, NaN, "1h 5m", ""] as unknown as 5[]) {
      const error = await refusal(engine.start(echo, { delay }))
      expect(error.code).toBe("BAD_DURATION")
      expect(error.message).toContain('"500ms", "30s", "5m", "24h", "7d", "2w", "1 hour", "5 minutes"')
    }
    expect((await refusal(engine.start(echo, { timeout: "never" as unknown as 5 }))).code).toBe("BAD_DURATION")
    expect((await refusal(engine.start(echo, { startAt: "tomorrow" }))).message).toContain("tomorrow")
    expect((await refusal(engine.start(echo, { tags: [""] }))).code).toBe("BAD_NAME")
    expect((await refusal(engine.start(echo, { delay: 5, startAt: 5 }))).code).toBe("BAD_OPTION")
    expect((await engine.list()).instances).toEqual([])
  })
})

describe("events", () => {
  it("against the schema are refused with the issues, and the instance waits on", async () => {
    const engine = await open({ workflows: [order] })
    const handle = await engine.start(order, { id: "i", input: { id: "1", items: [], at: 0 } })
    const error = await refusal(handle.sendEvent("payment", { amount: "ten" } as unknown as { amount: number }))
    expect(error.code).toBe("INVALID_EVENT")
    expect(error.message).toMatch(/^event "payment" is not valid: amount: /)
    const started = await refusal(
      engine.sendOrStart(order, { id: "j", event: "payment", payload: {} as { amount: number }, input: { id: "1", items: [], at: 0 } }),
    )
    expect(started.code).toBe("INVALID_EVENT")
    await engine.settle()
    expect((await engine.list()).instances.map(({ id }) => id)).toEqual(["i"])
    expect(await handle.status()).toBe("waiting")
    await engine.sendEvent("i", "payment", { amount: 10 })
    expect(await handle.result()).toMatchObject({ amount: 10 })
  })

  it("that cannot be stored, are too large or have a bad type are refused", async () => {
    const engine = await open({ workflows: [waiting] })
    const handle = await engine.start(waiting, { id: "i" })
    const unserialisable = await refusal(handle.sendEvent("word", { a: [() => 1] }))
    expect(unserialisable.code).toBe("UNSERIALIZABLE")
    expect(unserialisable.message).toContain(".a[0]")
    expect((await refusal(handle.sendEvent("word", "x".repeat(9_000_000)))).code).toBe("PAYLOAD_TOO_LARGE")
    expect((await refusal(handle.sendEvent("", 1))).code).toBe("BAD_NAME")
    expect((await refusal(handle.sendEvent("x".repeat(101), 1))).message).toContain("at most 100")
    await engine.sendEvent("i", "word", "fine")
    expect(await handle.result()).toBe("fine")
  })
})

describe("workflow code", () => {
  const codeOf = async (run: (ctx: Context) => Promise<unknown>): Promise<unknown> => {
    const flow = workflow("flow", run)
    const engine = await open({ workflows: [flow] })
    const handle = await engine.start(flow, { id: "i" })
    await engine.skip("1m")
    return handle.result()
  }
  const caught = (error: unknown) => error

  it("that gives a step, sleep or wait a wrong argument can catch it and go on", async () => {
    const wrong = await codeOf(async (ctx) => {
      const errors = [
        await ctx.sleep("nap", "soon" as unknown as 5).catch(caught),
        await ctx.sleepUntil("nap", "soon").catch(caught),
        await ctx.do("", () => 1).catch(caught),
        await ctx.do("x".repeat(257), () => 1).catch(caught),
        await ctx.do("none", undefined as unknown as () => 1).catch(caught),
        await ctx.waitForEvent("word", { timeout: "later" as unknown as 5 }).catch(caught),
        await ctx.waitForEvent("word", { type: "" }).catch(caught),
        await ctx.do("slow", () => 1, { timeout: "never" as unknown as 5 }).catch(caught),
        await ctx.do("late", () => 1, { deadline: "never" as unknown as 5 }).catch(caught),
        await ctx.do("again", () => 1, { retry: { maxAttempts: 0 } }).catch(caught),
        await ctx.do("again", () => 1, { retry: { attempts: 5 } as object }).catch(caught),
        await ctx.transaction("", () => 1).catch(caught),
        await ctx.transaction("none", undefined as unknown as () => 1).catch(caught),
        await ctx.transaction("slow", () => 1, { timeout: "never" as unknown as 5 }).catch(caught),
      ]
      return [errors.map((error) => (error as PerdureError).code), await ctx.do("fine", () => "fine")]
    })
    expect(wrong).toEqual([
      [
        "BAD_DURATION",
        "BAD_DURATION",
        "BAD_NAME",
        "BAD_NAME",
        "BAD_OPTION",
        "BAD_DURATION",
        "BAD_NAME",
        "BAD_DURATION",
        "BAD_DURATION",
        "BAD_OPTION",
        "BAD_OPTION",
        "BAD_NAME",
        "BAD_OPTION",
        "BAD_DURATION",
      ],
      "fine",
    ])
  })

  it("whose step gives what cannot be stored hears the path, and the step is not tried again", async () => {
    let calls = 0
    const error = (await codeOf(async (ctx) => ctx.do("give", () => (calls++, { deep: { er: [() => 1] } })).catch(caught))) as Error
    expect(error).toMatchObject({ code: "STEP_FAILED", cause: { code: "UNSERIALIZABLE" } })
    expect((error.cause as Error).message).toContain("result.deep.er[0]")
    expect(calls).toBe(1)
  })

  it("whose result cannot be stored fails with the path", async () => {
    const error = await refusal(codeOf(async () => ({ socket: { write: () => undefined } })))
    expect(error.code).toBe("UNSERIALIZABLE")
    expect(error.message).toContain("result.socket.write")
  })

  it("whose result is too large fails with the limit", async () => {
    const error = await refusal(codeOf(async () => "x".repeat(9_000_000)))
    expect(error.code).toBe("PAYLOAD_TOO_LARGE")
  })

  it("that throws something which cannot be stored still fails with its text", async () => {
    const failure = await codeOf(async () => {
      throw Object.assign(new TypeError("broken"), { socket: () => 1, code: 7 })
    }).catch(caught)
    expect(failure).toBeInstanceOf(TypeError)
    expect(failure).toMatchObject({ message: "broken", code: 7 })
  })

  it("that uses ctx inside a step is told to use the step's own", async () => {
    const errors = (await codeOf(async (ctx) =>
      ctx.do("outer", async ({ step }) => [
        await ctx.do("inner", () => 1).catch(caught),
        await ctx.sleep("nap", 1).catch(caught),
        await ctx.waitForEvent("word").catch(caught),
        await step.do("right", () => "right"),
      ]),
    )) as PerdureError[]
    for (const error of errors.slice(0, 3)) {
      expect(error).toMatchObject({ code: "CTX_IN_STEP", details: { step: "outer" } })
      expect(error.message).toContain("async ({ step }) => step.do(…)")
    }
    expect(errors[3]).toBe("right")
  })

  it("whose step waits for the result of its own instance is told that it can never come", async () => {
    const flow = workflow("flow", async (ctx) => ctx.do("self", () => engine.get("i").result(), { retry: { maxAttempts: 1 } }).catch(caught))
    const engine = await open({ workflows: [flow] })
    const handle = await engine.start(flow, { id: "i" })
    await engine.settle()
    expect(await handle.result()).toMatchObject({ code: "STEP_FAILED", cause: { code: "SELF_CALL", details: { instance: "i", step: "self" } } })
  })

  it("whose step waits for another instance is fine, and may send to its own", async () => {
    const flow = workflow("flow", async (ctx) => {
      const other = await ctx.do("other", () => engine.get("other").result())
      await ctx.do("send", () => engine.get("i").sendEvent("word", other))
      return ctx.waitForEvent("word")
    })
    const engine = await open({ workflows: [flow, echo] })
    await engine.start(echo, { id: "other", input: "hello" })
    const handle = await engine.start(flow, { id: "i" })
    expect(await handle.result()).toBe("hello")
  })

  it("that awaits for ever on something foreign is stalled and says what to do", async () => {
    const flow = workflow("flow", () => new Promise<never>(() => undefined))
    const engine = await open({ workflows: [flow] })
    const handle = await engine.start(flow, { id: "i" })
    await engine.skip("5s")
    expect(await handle.describe()).toMatchObject({ status: "stalled", error: { code: "STALLED", details: { code: "FOREIGN_AWAIT" } } })
    expect((await handle.why()).because[0]).toContain("await only what ctx gives, then resume")
  })
})

describe("definitions and options", () => {
  it("that make no sense are refused where they are made", async () => {
    const run = async () => 1
    const bad: [() => unknown, string][] = [
      [() => workflow("", run), "BAD_NAME"],
      [() => workflow("a b", run), "BAD_NAME"],
      [() => workflow("a", undefined as unknown as typeof run), "BAD_OPTION"],
      [() => workflow("a", { version: "" }, run), "BAD_OPTION"],
      [() => workflow("a", { retry: { maxAttempts: -1 } }, run), "BAD_OPTION"],
      [() => workflow("a", { timeout: "soon" as unknown as 5 }, run), "BAD_DURATION"],
      [() => workflow("a", { duplicateSteps: "never" as "error" }, run), "BAD_OPTION"],
      [() => workflow("a", { events: { "": z.string() } }, run), "BAD_NAME"],
    ]
    for (const [make, code] of bad) expect(make).toThrow(expect.objectContaining({ code }))
    for (const options of [
      { replayGrace: "soon" as unknown as 5 },
      { cancelGrace: -1 },
      { retry: { backoff: "quadratic" as "fixed" } },
      { maxRecoveries: -1 },
      { maxResidentInstances: 0 },
      { limits: { stepsMax: NaN } },
    ])
      await expect(open({ workflows: [], ...options })).rejects.toMatchObject({ code: expect.stringMatching(/^BAD_(OPTION|DURATION)$/) })
    const long = workflow("x".repeat(65), run)
    await expect(open({ workflows: [long] })).rejects.toMatchObject({ code: "BAD_NAME", message: expect.stringContaining("at most 64") })
    await (await open({ workflows: [long], limits: { workflowNameLengthMax: 65 } })).close()
    await expect(open({ workflows: [echo, echo] })).rejects.toMatchObject({ code: "BAD_OPTION", message: expect.stringContaining("registered twice") })
  })
})

describe("a closed engine", () => {
  it("refuses everything, and says to open another", async () => {
    const engine = await open({ workflows: [waiting] })
    const handle = await engine.start(waiting, { id: "i" })
    const closed = engine.current
    const old = closed.get("i")
    await engine.close()
    const calls: (() => Promise<unknown>)[] = [
      () => (closed as Client).start("waiting"),
      () => closed.startBatch([{ workflow: waiting }]),
      () => closed.sendOrStart(waiting, { id: "i", event: "word", payload: 1 }),
      () => closed.list(),
      () => closed.count({}, "status"),
      () => old.result(),
      () => old.status(),
      () => old.describe(),
      () => old.steps(),
      () => old.history(),
      () => old.why(),
      () => old.sendEvent("word"),
      () => old.pause(),
      () => old.resume(),
      () => old.cancel(),
      () => old.terminate(),
      () => old.restart(),
      () => old.delete(),
      () => closed.limits.get(waiting),
      () => closed.limits.set(waiting, { concurrency: 1 }),
      () => closed.limits.reset(waiting),
    ]
    for (const call of calls) {
      const error = await refusal(call())
      expect(`${error.code} for ${call.toString()}`).toContain("ENGINE_CLOSED for ")
      expect(error.message).toContain("open")
    }
    await engine.open()
    await engine.sendEvent("i", "word", "still there")
    expect(await handle.result()).toBe("still there")
  })

  it("rejects whoever waits for a result", async () => {
    const engine = await open({ workflows: [waiting] })
    const result = engine.current.get((await engine.start(waiting)).id).result()
    const rejected = refusal(result)
    await engine.settle()
    await engine.close()
    expect((await rejected).code).toBe("ENGINE_CLOSED")
  })

  it("may be closed twice", async () => {
    const engine = await open({ workflows: [] })
    const { current } = engine
    await engine.close()
    await expect(current.close()).resolves.toBeUndefined()
  })
})

describe("what only an engine has", () => {
  it.each<[string, readonly unknown[], string]>([
    ["result", [42], "BAD_ID"],
    ["result", ["i", null], "BAD_OPTION"],
    ["result", ["i", { signal: 5 }], "BAD_OPTION"],
    ["result", ["i", { signal: { aborted: "no" } }], "BAD_OPTION"],
    ["tick", [null], "BAD_OPTION"],
  ])("%s(%j) is refused with a code", async (method, args, code) => {
    const engine = await open({ workflows: [echo] })
    const call = Reflect.get(engine.current, method) as (...given: readonly unknown[]) => Promise<unknown>
    expect((await refusal(Reflect.apply(call, engine.current, args))).code).toBe(code)
  })
})
