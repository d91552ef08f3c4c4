import { describe, expect, it } from "vitest"
import { SteadyClock } from "./steady-clock.ts"

/** Both clocks of a machine, in the hands of the test. */
class Machine {
  wall = 1_000_000
  monotonic = 500.25
  /** The process is interrupted for so long after it has read the wall clock, as often as this says. */
  pauses: number[] = []

  readonly clock = new SteadyClock(
    () => {
      const { wall } = this
      this.pass(this.pauses.shift() ?? 0)
      return wall
    },
    () => this.monotonic,
  )

  pass(ms: number): void {
    this.wall += ms
    this.monotonic += ms
  }
}

describe("the time", () => {
  it("is that of the wall clock while nobody sets it", () => {
    const machine = new Machine()
    for (const ms of [1, 0, 17, 3_600_000, 86_400_000]) {
      machine.pass(ms)
      expect(machine.clock.now()).toBe(machine.wall)
    }
    expect(machine.clock.aheadMs()).toBe(0)
  })

  it("is given in whole milliseconds", () => {
    const machine = new Machine()
    machine.monotonic += 7.77
    machine.wall -= 60_000
    expect(Number.isInteger(machine.clock.now())).toBe(true)
  })

  it("goes on from where it was after the wall clock was set back, and is ahead of it by the step", () => {
    const machine = new Machine()
    const before = machine.clock.now()
    machine.wall -= 60_000
    expect(machine.clock.now()).toBe(before)
    machine.pass(10_000)
    expect(machine.clock.now()).toBe(before + 10_000)
    expect(machine.clock.aheadMs()).toBe(60_000)
  })

  it("notices a step back that is hidden by the time that passed meanwhile", () => {
    const machine = new Machine()
    const before = machine.clock.now()
    machine.pass(3_600_000)
    machine.wall -= 60_000
    expect(machine.clock.now()).toBe(before + 3_600_000)
    expect(machine.clock.aheadMs()).toBe(60_000)
  })

  it("adds up steps back, and follows the wall clock again when somebody has set it forward by as much", () => {
    const machine = new Machine()
    const before = machine.clock.now()
    machine.wall -= 60_000
    machine.clock.now()
    machine.wall -= 30_000
    expect(machine.clock.aheadMs()).toBe(90_000)
    machine.wall += 50_000
    expect([machine.clock.now(), machine.clock.aheadMs()]).toEqual([before, 40_000])
    machine.wall += 45_000
    expect([machine.clock.now(), machine.clock.aheadMs()]).toEqual([before + 5_000, 0])
  })

  it("takes a clock that is slewed, or that differs a little, for what it is", () => {
    const machine = new Machine()
    for (let i = 0; i < 10_000; i++) {
      machine.pass(1_000)
      machine.monotonic += 0.5
    }
    machine.pass(3_600_000)
    machine.monotonic += 1_800
    expect(machine.clock.now()).toBe(machine.wall)
    expect(machine.clock.aheadMs()).toBe(0)
  })

  it("does not take an interruption between two readings for a step", () => {
    const machine = new Machine()
    for (let i = 0; i < 100; i++) {
      machine.pass(1_000)
      machine.pauses = [i % 2 === 0 ? 15 : 500]
      const shown = machine.wall
      expect(machine.clock.now()).toBeGreaterThanOrEqual(shown)
      expect(machine.clock.now()).toBeLessThanOrEqual(machine.wall)
    }
    expect(machine.clock.aheadMs()).toBe(0)
  })

  it("never goes back, whatever is done to the wall clock", () => {
    const machine = new Machine()
    let last = 0
    for (let i = 1; i < 2_000; i++) {
      machine.wall += ((i * 7_919) % 2_003) - 1_000
      machine.pass(i % 5)
      const now = machine.clock.now()
      expect(now).toBeGreaterThanOrEqual(last)
      last = now
    }
  })
})

describe("without a monotonic clock", () => {
  it("a step back is noticed where the wall clock shows less than before", () => {
    let wall = 1_000_000
    const clock = new SteadyClock(() => wall)
    wall -= 60_000
    expect([clock.now(), clock.aheadMs()]).toEqual([1_000_000, 60_000])
    wall += 5_000
    expect(clock.now()).toBe(1_005_000)
  })

  it("a timer that fires tells how late it is", () => {
    let wall = 1_000_000
    const clock = new SteadyClock(() => wall)
    // A minute has passed, and the clock was set back by half of it.
    wall += 30_000
    clock.reached(1_060_000)
    expect([clock.now(), clock.aheadMs()]).toEqual([1_060_000, 30_000])
    clock.reached(1_060_001)
    expect([clock.now(), clock.aheadMs()]).toEqual([1_060_001, 30_000])
    clock.reached(1_000_000)
    expect(clock.now()).toBe(1_060_001)
  })
})
