import { describe, expect, it } from "vitest"
import type { CurrentHost } from "./host-bed.ts"

const dayMs = 24 * 60 * 60 * 1_000
const hourMs = 60 * 60 * 1_000

export function timeCases(bed: CurrentHost): void {
  describe("time", () => {
    it("is in whole milliseconds, and passes", async () => {
      const { host, pass } = bed()
      const before = host.now()
      expect(Number.isInteger(before)).toBe(true)
      // A timer counts on another clock, which may end a millisecond earlier.
      await pass(6)
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

  describe("a wall clock that is set", () => {
    it("back: the time does not go back, goes on, and is told to be ahead of the wall clock", async () => {
      const { host, pass, setWallClock } = bed()
      expect(host.aheadMs()).toBe(0)
      const before = host.now()
      setWallClock(-hourMs)
      expect(host.now()).toBeGreaterThanOrEqual(before)
      expect(host.now()).toBeLessThan(before + hourMs / 2)
      await pass(30)
      expect(host.now()).toBeGreaterThanOrEqual(before + 29)
      expect(host.now()).toBeLessThan(before + hourMs / 2)
      expect(Math.abs(host.aheadMs() - hourMs)).toBeLessThan(1_000)
    })

    it("back: a timer that is set fires after what was left of it, and when it fires the time is not earlier", async () => {
      const { host, pass, setWallClock } = bed()
      const fired: number[] = []
      const at = host.now() + 30
      host.setTimer(at, () => fired.push(host.now() - at))
      setWallClock(-hourMs)
      await pass(35)
      for (let waits = 0; fired.length === 0 && waits < 100; waits++) await pass(5)
      expect(fired).toEqual([expect.any(Number)])
      expect(fired[0]).toBeGreaterThanOrEqual(-1)
      expect(fired[0]).toBeLessThan(hourMs / 2)
    })

    it("back: a timer that is set afterwards fires after its time, and so does one that was set before it", async () => {
      const { host, pass, setWallClock } = bed()
      const fired: string[] = []
      host.setTimer(host.now() + 40, () => fired.push("before"))
      setWallClock(-60_000)
      host.setTimer(host.now() + 20, () => fired.push("after"))
      await pass(45)
      for (let waits = 0; fired.length < 2 && waits < 100; waits++) await pass(5)
      expect(fired).toEqual(["after", "before"])
    })

    it("back by a little, again and again: the time never goes back, and stays near the wall clock", async () => {
      const { host, pass, setWallClock } = bed()
      const times = [host.now()]
      for (let i = 0; i < 5; i++) {
        setWallClock(-3)
        times.push(host.now())
        await pass(5)
        times.push(host.now())
      }
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(host.aheadMs()).toBeLessThan(1_000)
    })

    it("forward: the time follows at once", async () => {
      const { host, pass, setWallClock } = bed()
      const before = host.now()
      setWallClock(hourMs)
      await pass(5)
      expect(host.now()).toBeGreaterThanOrEqual(before + hourMs)
      expect(host.now()).toBeLessThan(before + 1.5 * hourMs)
      expect(host.aheadMs()).toBe(0)
    })
  })

  it("monotonic time passes, and nobody sets it", async () => {
    const { host, pass, setWallClock } = bed()
    const before = host.monotonicMs()
    setWallClock(-hourMs)
    expect(host.monotonicMs() - before).toBeGreaterThanOrEqual(0)
    await pass(10)
    const passedMs = host.monotonicMs() - before
    expect(passedMs).toBeGreaterThanOrEqual(9)
    expect(passedMs).toBeLessThan(hourMs / 2)
  })
}
