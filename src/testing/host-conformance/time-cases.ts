import { describe, expect, it } from "vitest"
import type { CurrentHost } from "./host-bed.ts"

const dayMs = 24 * 60 * 60 * 1_000

export function timeCases(bed: CurrentHost): void {
  describe("time", () => {
    it("is told in whole milliseconds, and passes", async () => {
      const { host, pass } = bed()
      const before = host.now()
      expect(Number.isInteger(before)).toBe(true)
      await pass(5)
      expect(host.now()).toBeGreaterThanOrEqual(before + 5)
    })

    it("a timer fires once, when its time has come", async () => {
      const { host, pass } = bed()
      const at = host.now() + 10
      const fired: number[] = []
      host.setTimer(at, () => fired.push(host.now()))
      await pass(15)
      await pass(5)
      expect(fired).toHaveLength(1)
      expect(fired[0]).toBeGreaterThanOrEqual(at - 1)
    })

    it("timers fire in the order of their times, whatever the order in which they were set", async () => {
      const { host, pass } = bed()
      const now = host.now()
      const fired: string[] = []
      host.setTimer(now + 20, () => fired.push("third"))
      host.setTimer(now + 1, () => fired.push("first"))
      host.setTimer(now + 10, () => fired.push("second"))
      await pass(40)
      expect(fired).toEqual(["first", "second", "third"])
    })

    it("a timer of a time that is past fires soon, and not at once", async () => {
      const { host, pass } = bed()
      let fired = 0
      host.setTimer(host.now() - dayMs, () => fired++)
      expect(fired).toBe(0)
      await pass(5)
      expect(fired).toBe(1)
    })

    it("a timer that is cleared does not fire, and to clear it again or after it fired does nothing", async () => {
      const { host, pass } = bed()
      const fired: string[] = []
      const clear = host.setTimer(host.now() + 1, () => fired.push("cleared"))
      const clearLate = host.setTimer(host.now() + 1, () => fired.push("late"))
      clear()
      clear()
      await pass(10)
      clearLate()
      expect(fired).toEqual(["late"])
    })

    it("a timer of a far day does not fire now", async () => {
      const { host, pass } = bed()
      let fired = 0
      const clear = [host.setTimer(host.now() + 60 * dayMs, () => fired++), host.setTimer(Number.MAX_SAFE_INTEGER, () => fired++)]
      await pass(10)
      expect(fired).toBe(0)
      for (const stop of clear) stop()
    })

    it("a timer may set the next", async () => {
      const { host, pass } = bed()
      let fired = 0
      const next = () => {
        if (++fired < 5) host.setTimer(host.now() + 1, next)
      }
      host.setTimer(host.now() + 1, next)
      for (let waits = 0; fired < 5 && waits < 100; waits++) await pass(5)
      expect(fired).toBe(5)
    })
  })
}
