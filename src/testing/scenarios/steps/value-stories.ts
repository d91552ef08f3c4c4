import { describe, expect, it } from "vitest"
import type { Context } from "../../../core/workflow/context.ts"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { OpenBed } from "../scenario-bed.ts"

const mebibyte = 1024 * 1024

/** One value of each type that a store keeps. */
function riches(): Record<string, unknown> {
  const cycle: Record<string, unknown> = { name: "cycle" }
  cycle["self"] = cycle
  const shared = { shared: true }
  return {
    undefined: undefined,
    null: null,
    numbers: [0, -0, 1.5, Infinity, -Infinity, NaN],
    bigint: 12345678901234567890n,
    text: 'snow ☃, zero \u0000, half \ud83d, whole 😀, quote " and \\',
    date: new Date("2026-01-02T03:04:05.678Z"),
    map: new Map<unknown, unknown>([
      ["a", 1],
      [new Date(0), new Set(["x"])],
    ]),
    set: new Set([1, "two"]),
    regexp: /a+b/gi,
    url: new URL("https://example.com/path?q=1#h"),
    bytes: new Uint8Array([0, 127, 255]),
    floats: new Float64Array([1.5, -2.5]),
    error: new RangeError("out of range", { cause: new Error("inner") }),
    cycle,
    twice: [shared, shared],
    "a key with ünïcode": "yes",
  }
}

export function valueStories(open: OpenBed): void {
  describe("values", () => {
    it("keep their types through input, step, event, result and a crash", async () => {
      const flow = workflow("flow", async (ctx: Context, input: unknown) => {
        const step = await ctx.do("give", () => riches())
        const event = await ctx.waitForEvent("word")
        await ctx.waitForEvent("go")
        return { input, step, event }
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: riches() })
      await engine.sendEvent("i", "word", riches())
      await engine.crash()
      await engine.sendEvent("i", "go")
      const { input, step, event } = (await handle.result()) as Record<"input" | "step" | "event", Record<string, unknown>>
      for (const value of [input, step, event, (await handle.describe()).input as Record<string, unknown>]) {
        expect(value).toEqual(riches())
        expect(Object.is((value["numbers"] as number[])[1], -0)).toBe(true)
        expect(value["error"]).toBeInstanceOf(RangeError)
        expect((value["error"] as Error).cause).toMatchObject({ message: "inner" })
        expect(value["bytes"]).toBeInstanceOf(Uint8Array)
        const cycle = value["cycle"] as Record<string, unknown>
        expect(cycle["self"]).toBe(cycle)
        const [first, second] = value["twice"] as unknown[]
        expect(first).toBe(second)
      }
    })

    it("are nothing at all where nothing is given", async () => {
      const flow = workflow("flow", async (ctx, input: unknown) => {
        await ctx.do("nothing", () => undefined)
        expect(input).toBeUndefined()
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow)
      expect(await handle.result()).toBeUndefined()
      expect(await handle.describe()).toMatchObject({ input: undefined, result: undefined })
    })

    it("of 8 MiB work as input, step result, event and result", async () => {
      const size = 8 * mebibyte - 2
      const flow = workflow("flow", async (ctx: Context, input: string) => {
        const step = await ctx.do("large", () => "s".repeat(size))
        const event = await ctx.waitForEvent("word")
        return input.slice(0, 1) + step.slice(1, 2) + String(event).slice(2)
      })
      const engine = await open({ workflows: [flow] })
      const handle = await engine.start(flow, { id: "i", input: "i".repeat(size) })
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "word", "e".repeat(size))
      const result = await handle.result()
      expect(result).toHaveLength(size)
      expect(result.slice(0, 3)).toBe("ise")
    })

    it("larger than allowed, or that cannot be stored, fail the step at once and leave the instance in order", async () => {
      let calls = 0
      const flow = workflow("flow", async (ctx) => {
        const codes: unknown[] = []
        for (const [name, value] of [
          ["large", "x".repeat(2_000)],
          ["function", { deep: [() => 1] }],
        ] as const) {
          await ctx.do(name, () => (calls++, value)).catch((error: unknown) => codes.push(((error as Error).cause as { code: string }).code))
        }
        await ctx.waitForEvent("go")
        return codes
      })
      const engine = await open({ workflows: [flow], limits: { payloadBytesMax: 1_000 } })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await engine.crash()
      await engine.sendEvent("i", "go")
      expect(await handle.result()).toEqual(["PAYLOAD_TOO_LARGE", "UNSERIALIZABLE"])
      expect(calls).toBe(2)
    })
  })
}
