import { describe, expect, it } from "vitest"
import { SimulatedHost } from "../hosts/simulated/simulated-host.ts"
import { Alarm, Timers } from "./timers.ts"

const settled = () => Promise.resolve()

describe("timers", () => {
  it("fire in the order of their times, and of being set where these are the same", async () => {
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

  it("do not fire once they are cleared, and one may set another", async () => {
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

  it("an alarm is moved, put off and set again after it rang", async () => {
    const host = new SimulatedHost({ startAt: 0 })
    const rang: number[] = []
    const alarm = new Alarm(new Timers(host), () => rang.push(host.now()))
    alarm.setTo(10)
    alarm.setTo(20)
    await host.advanceTo(15, settled)
    expect(rang).toEqual([])
    await host.advanceTo(25, settled)
    alarm.setTo(30)
    alarm.setTo(undefined)
    await host.advanceTo(35, settled)
    alarm.setTo(40)
    await host.advanceTo(50, settled)
    expect(rang).toEqual([20, 40])
  })
})
