import { describe, expect, it } from "vitest"
import { workflow } from "../../../core/workflow/workflow.ts"
import type { Logger } from "../../../ports/host.ts"
import type { OpenBed } from "../scenario-bed.ts"

interface Line {
  readonly level: string
  readonly message: string
  readonly data: Record<string, unknown>
}

function listening(): { readonly lines: Line[]; readonly log: Logger } {
  const lines: Line[] = []
  const note =
    (level: string) =>
    (message: string, data: Record<string, unknown> = {}) =>
      void lines.push({ level, message, data })
  return { lines, log: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") } }
}

export function failureLogStories(open: OpenBed): void {
  describe("the log of failures", () => {
    it("has retries as information, and a step and an instance that fail as warnings, each once", async () => {
      const { lines, log } = listening()
      const charge = () => Promise.reject(new TypeError("card declined"))
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("charge", charge, { retry: { maxAttempts: 2, initialInterval: "10s", jitter: 0 } }).catch(() => undefined)
        await ctx.waitForEvent("word")
        throw new RangeError("too much")
      })
      const engine = await open({ workflows: [flow], log })
      await engine.start(flow, { id: "i" })
      await engine.skip("11s")
      await engine.crash()
      await engine.sendEvent("i", "word")
      await engine.settle()
      await engine.crash()
      await engine.skip("1d")
      expect(lines.map(({ level, message }) => `${level} ${message.replace(/ \(at .*\)$/, "")}`)).toEqual([
        'info attempt 1 of step "charge" of instance "i" failed, the next is in 10 s: TypeError: card declined',
        'warn step "charge" of instance "i" failed after 2 attempts: TypeError: card declined',
        'warn instance "i" of workflow "flow" failed: RangeError: too much',
      ])
      expect(lines[1]?.data).toMatchObject({ instance: "i", workflow: "flow", step: "charge", attempt: 2, error: { name: "TypeError" } })
      expect(lines[1]?.data["at"]).toContain("failure-log-stories")
      const stack = String((lines[1]?.data["error"] as Error | undefined)?.stack)
      expect(stack).toContain("failure-log-stories")
      expect(lines[2]?.data).toMatchObject({ instance: "i", workflow: "flow", version: "1", run: 1, error: { name: "RangeError" } })
    })

    it("does not show what is sensitive", async () => {
      const { lines, log } = listening()
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("login", () => Promise.reject(new Error("hunter2")), { sensitive: true, retry: { maxAttempts: 2, initialInterval: 1 } })
      })
      const engine = await open({ workflows: [flow], log })
      await engine.start(flow, { id: "i" })
      await engine.skip("1m")
      expect(lines.map(({ level }) => level)).toEqual(["info", "warn", "warn"])
      expect(lines.map(({ message, data }) => message + JSON.stringify(data)).join()).not.toContain("hunter2")
      expect(lines[1]?.message).toBe('step "login" of instance "i" failed after 2 attempts: an error that is not shown')
    })

    it("takes no step that a cancel stops for a failure", async () => {
      const { lines, log } = listening()
      const flow = workflow("flow", async (ctx) => {
        await ctx.do("long", ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))))
      })
      const engine = await open({ workflows: [flow], log })
      const handle = await engine.start(flow, { id: "i" })
      await engine.settle()
      await handle.cancel()
      await engine.settle()
      expect(await handle.status()).toBe("cancelled")
      expect(lines.filter(({ level }) => level !== "info")).toEqual([])
    })
  })
}
