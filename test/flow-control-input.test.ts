// Mistakes of callers in flow control. Each gets an error code and a message with advice.

import { type Context, type PerdureError, workflow, type WorkflowSettings } from "perdure"
import { createTestEngine } from "perdure/testing"
import { describe, expect, it } from "vitest"

const define = (options: Record<string, unknown>) => () => workflow("flow", options as Omit<WorkflowSettings, "input" | "events">, async () => undefined)

interface Job {
  readonly key: string
}

describe("options of a workflow", () => {
  const refused: readonly [Record<string, unknown>, string, RegExp][] = [
    [{ concurrency: 0 }, "BAD_OPTION", /the limit in concurrency of workflow "flow" is 0; give a whole number from 1 on/],
    [{ concurrency: 1.5 }, "BAD_OPTION", /is 1.5/],
    [{ concurrency: "5" }, "BAD_OPTION", /concurrency of workflow "flow" must be an object; it is of type string/],
    [{ concurrency: null }, "BAD_OPTION", /it is null/],
    [{ concurrency: [1, { limit: -1 }] }, "BAD_OPTION", /is -1/],
    [{ concurrency: { limit: 1, key: "customer" } }, "BAD_OPTION", /key in concurrency .* must be a function of the input/],
    [{ concurrency: { limit: 1, hold: "yes" } }, "BAD_OPTION", /hold .* must be true or false/],
    [{ concurrency: Array.from({ length: 9 }, () => 1) }, "BAD_OPTION", /has 9 limits; at most 8/],
    [{ concurrency: { limit: 1, name: "" } }, "BAD_OPTION", /name in concurrency .* give 1 to 64 of/],
    [{ concurrency: { limit: 1, name: "a/b" } }, "BAD_OPTION", /is "a\/b"/],
    [{ concurrency: { limit: 1, name: 5 } }, "BAD_OPTION", /is 5; give 1 to 64/],
    [{ concurrency: ["a", "b", "a"].map((name) => ({ limit: 1, name })) }, "BAD_OPTION", /two limits .* have the same name/],
    [{ rateLimit: 5 }, "BAD_OPTION", /rateLimit of workflow "flow" must be an object/],
    [{ rateLimit: { limit: 0, per: "1s" } }, "BAD_OPTION", /the limit in rateLimit .* is 0/],
    [{ rateLimit: { limit: 1, per: 0 } }, "BAD_OPTION", /per in rateLimit .* longer than nothing/],
    [{ rateLimit: { limit: 1, per: "often" } }, "BAD_DURATION", /per in rateLimit of workflow "flow": "often" is not a duration/],
    [{ rateLimit: { limit: 1 } }, "BAD_DURATION", /undefined is not a duration/],
    [{ priority: 1_001 }, "BAD_OPTION", /priority of workflow "flow" is 1001; give a whole number from -1000 to 1000/],
    [{ priority: "high" }, "BAD_OPTION", /is high/],
    [{ debounce: { quiet: 0 } }, "BAD_OPTION", /quiet .* longer than nothing/],
    [{ debounce: { quiet: "10s", max: "5s" } }, "BAD_OPTION", /max .* is shorter than its quiet time; give at least 10s/],
    [{ debounce: { max: "5s" } }, "BAD_DURATION", /quiet in debounce/],
    [{ debounce: "10s" }, "BAD_OPTION", /debounce of workflow "flow" must be an object/],
    [{ singleton: 1 }, "BAD_OPTION", /singleton of workflow "flow" must be an object; it is of type number/],
    [{ singleton: { key: 5 } }, "BAD_OPTION", /key in singleton .* must be a function/],
  ]

  it.each(refused)("%j is refused", (options, code, message) => {
    expect(define(options)).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error)
  })

  it("what makes sense is taken", () => {
    const options = { concurrency: [5, { limit: Infinity, key: () => "a", hold: true }], rateLimit: { limit: 1, per: 1 }, priority: -1_000, singleton: false }
    expect(define(options)).not.toThrow()
  })
})

describe("keys and priorities that functions give", () => {
  const start = async (options: WorkflowSettings<Job>, input: Job = { key: "a" }) => {
    const flow = workflow("flow", options as Omit<WorkflowSettings<Job>, "input" | "events">, async (_ctx: Context, _input: Job) => undefined)
    await using engine = await createTestEngine({ workflows: [flow] })
    const error: unknown = await engine.start(flow, { input }).catch((reason: unknown) => reason)
    expect((await engine.list()).instances).toEqual([])
    return error as PerdureError
  }

  it.each([
    ["nothing", () => undefined, /is not a string/],
    ["a number", () => 5, /is not a string/],
    ["an empty text", () => "", /is empty/],
    ["a long text", () => "x".repeat(257), /has 257 characters; at most 256/],
    ["text that databases cut off", () => "a\0b", /holds U\+0000/],
    ["half a character", () => "\ud800", /half of a character/],
  ])("a key that is %s is refused", async (_, key, message) => {
    for (const option of ["concurrency", "rateLimit", "debounce", "singleton"] as const) {
      const error = await start({ [option]: { limit: 1, per: "1s", quiet: "1s", key } })
      expect(error).toMatchObject({ code: "BAD_LIMIT_KEY", details: { workflow: "flow", option }, message: expect.stringMatching(message) as string })
    }
  })

  it("a function that throws is told with its error", async () => {
    const cause = new TypeError("no customer")
    const key = () => {
      throw cause
    }
    expect(await start({ concurrency: { limit: 1, key } })).toMatchObject({
      code: "BAD_LIMIT_KEY",
      message: expect.stringContaining("no customer") as string,
      cause,
    })
    expect(await start({ priority: () => 0.5 })).toMatchObject({
      code: "BAD_OPTION",
      message: expect.stringContaining('what priority of workflow "flow" gives is 0.5') as string,
    })
  })
})

describe("starting and setting", () => {
  const limited = workflow("limited", { concurrency: 1 }, async (ctx: Context) => ctx.waitForEvent("word"))
  const quiet = workflow("quiet", { debounce: { quiet: "1s" } }, async (ctx: Context) => ctx.waitForEvent("word"))
  const parent = workflow("parent", async (ctx: Context) => (await ctx.startChild(quiet)).result())

  it("is refused where it makes no sense", async () => {
    await using engine = await createTestEngine({ workflows: [limited, quiet, parent] })
    const calls: readonly [() => Promise<unknown>, string, RegExp][] = [
      [() => engine.start(limited, { priority: 5_000 }), "BAD_OPTION", /priority is 5000/],
      [() => engine.start(limited, { priority: "high" as never }), "BAD_OPTION", /priority is "high"; give a number/],
      [() => engine.start(quiet, { delay: "1h" }), "BAD_OPTION", /is debounced, and debounce decides when it starts/],
      [() => engine.start(quiet, { startAt: 5 }), "BAD_OPTION", /omit delay and startAt/],
      [() => engine.sendOrStart(quiet, { id: "i", event: "word", payload: 1 }), "BAD_OPTION", /cannot be used with sendOrStart/],
      [() => engine.limits.set(limited, {}), "BAD_OPTION", /give concurrency, rateLimit or both/],
      [() => engine.limits.set(limited, { concurrency: -1 }), "BAD_OPTION", /is -1; give a whole number from 0 on/],
      [() => engine.limits.set(limited, { concurrency: [1, 2] }), "UNKNOWN_LIMIT", /workflow "limited" has no such limit/],
      [() => engine.limits.set(limited, { rateLimit: { limit: 1, per: "1s" } }), "UNKNOWN_LIMIT", /has no such limit/],
      [() => engine.limits.set(limited, { rateLimit: { limit: 1, per: "often" as never } }), "BAD_DURATION", /"often"/],
      [() => engine.limits.set("nobody", { concurrency: 1 }), "UNKNOWN_LIMIT", /workflow "nobody"/],
    ]
    for (const [call, code, message] of calls) await expect(call()).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string })
    expect(await engine.limits.get(limited)).toEqual({ concurrency: [{ limit: 1 }] })
    expect(await engine.limits.get("nobody")).toEqual({ concurrency: [] })
    await expect((await engine.start(parent)).result()).rejects.toMatchObject({
      code: "BAD_OPTION",
      message: expect.stringContaining("cannot be started as a child") as string,
    })
    await expect(createTestEngine({ workflows: [], maxConcurrentSteps: 0 })).rejects.toMatchObject({
      code: "BAD_OPTION",
      details: { option: "maxConcurrentSteps" },
    })
  })
})
