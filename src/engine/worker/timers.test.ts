import { describe, expect, it } from "vitest"
import { SimulatedHost } from "../../hosts/simulated/simulated-host.ts"
import { MovableTimer, Timers } from "./timers.ts"

const settled = () => Promise.resolve()

describe("timers", () => {
  it("fire in the order of their times, and then in the order in which they were set", async () => {
    const host = new SimulatedHost({ startAt: 0 })
    const timers = new Timers(host)
    const fired: string[] = []
    for (const [at, name] of [
      [30, "c"],
      [10, "a"],
      [20, "b1"],
      [20, "b2"],
    ] as const)
      timers.set(at, () => fired.push(`${name}@${host.now()}`))
    await host.advanceTo(25, settled)
    expect(fired).toEqual(["a@10", "b1@20", "b2@20"])
    await host.advanceTo(100, settled)
    expect(fired.at(-1)).toBe("c@30")
  })

  it("do not fire once they are cleared, and a timer may set another", async () => {
    const host = new SimulatedHost({ startAt: 0 })
    const timers = new Timers(host)
    const fired: number[] = []
    timers.clear(timers.set(5, () => fired.push(5)))
    timers.set(10, () => {
      fired.push(10)
      timers.set(15, () => fired.push(15))
    })
    await host.advanceTo(20, settled)
    expect(fired).toEqual([10, 15])
    timers.set(30, () => fired.push(30))
    timers.close()
    await host.advanceTo(40, settled)
    expect(fired).toEqual([10, 15])
  })

  it("leave no host timer when all are cleared, and work with the next that is set", async () => {
    const host = new SimulatedHost({ startAt: 0 })
    const setTimer = host.setTimer.bind(host)
    const pending = new Set<number>()
    host.setTimer = (at, fire) => {
      const stop = setTimer(at, fire)
      pending.add(at)
      return () => {
        pending.delete(at)
        stop()
      }
    }
    const timers = new Timers(host)
    const fired: number[] = []
    const handles = [10, 20].map((at) => timers.set(at, () => fired.push(at)))
    timers.clear(handles[0])
    expect(pending).toEqual(new Set([10]))
    timers.clear(handles[1])
    expect(pending).toEqual(new Set())
    expect(timers.size).toBe(0)
    timers.set(30, () => fired.push(30))
    await host.advanceTo(40, settled)
    expect(fired).toEqual([30])
  })

  it("all fire, also if the callback of one of them throws", async () => {
    const lines: string[] = []
    const note = (message: string, data?: Record<string, unknown>) => void lines.push(`${message}: ${String(data?.["error"])}`)
    const host = new SimulatedHost({ startAt: 0, log: { debug: note, info: note, warn: note, error: note } })
    const timers = new Timers(host)
    const fired: number[] = []
    timers.set(10, () => {
      throw new Error("a flaw")
    })
    timers.set(10, () => fired.push(10))
    timers.set(20, () => fired.push(20))
    await host.advanceTo(30, settled)
    expect(fired).toEqual([10, 20])
    expect(lines).toEqual(["the callback of a timer failed: Error: a flaw"])
  })

  it("do not accumulate cleared timers, and keep the others", async () => {
    const host = new SimulatedHost({ startAt: 0 })
    const timers = new Timers(host)
    const fired: number[] = []
    for (let at = 1; at <= 10; at++) timers.set(at, () => fired.push(at))
    for (let i = 0; i < 10_000; i++) timers.clear(timers.set(86_400_000, () => fired.push(0)))
    expect(timers.size).toBeLessThan(200)
    await host.advanceTo(20, settled)
    expect(fired).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  it("accept no timer once they are closed", async () => {
    const host = new SimulatedHost({ startAt: 0 })
    const timers = new Timers(host)
    timers.close()
    timers.clear(timers.set(10, () => expect.unreachable()))
    timers.set(20, () => expect.unreachable())
    expect(host.nextTimerAt()).toBeUndefined()
  })

  it("a timer is moved, delayed and set again after it fired", async () => {
    const host = new SimulatedHost({ startAt: 0 })
    const rang: number[] = []
    const timer = new MovableTimer(new Timers(host), () => rang.push(host.now()))
    timer.setTo(10)
    timer.setTo(20)
    await host.advanceTo(15, settled)
    expect(rang).toEqual([])
    await host.advanceTo(25, settled)
    timer.setTo(30)
    timer.setTo(undefined)
    await host.advanceTo(35, settled)
    timer.setTo(40)
    await host.advanceTo(50, settled)
    expect(rang).toEqual([20, 40])
  })
})
