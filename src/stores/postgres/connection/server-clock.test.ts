import { expect, it } from "vitest"
import { functionSetOf } from "../schema/function-set.ts"
import { ServerClock } from "./server-clock.ts"

const startAt = 1_800_000_000_000

/** A server, and the monotonic clock of a process that asks it. */
function open(wallAt = 0) {
  const it = { monotonic: 1_234.5, server: startAt, tripMs: 0, asked: 0, isAway: false }
  const pass = (ms: number) => {
    it.monotonic += ms
    it.server += ms
  }
  const database = {
    functions: functionSetOf("s").names,
    get: async () => {
      it.asked++
      await Promise.resolve()
      if (it.isAway) throw new Error("the server is away")
      pass(it.tripMs / 2)
      const row = { now: Math.floor(it.server) }
      pass(it.tripMs / 2)
      return row
    },
  }
  return { it, pass, clock: new ServerClock(database, wallAt, () => it.monotonic) }
}

const moments = async () => {
  for (let i = 0; i < 5; i++) await Promise.resolve()
}

it("tells the server's time, in whole milliseconds, and goes on with the monotonic clock", async () => {
  const { clock, pass } = open()
  await clock.compare()
  expect(clock.now()).toBe(startAt)
  pass(1_000)
  expect(clock.now()).toBe(startAt + 1_000)
  pass(0.25)
  expect(clock.now()).toBe(startAt + 1_000)
})

it("begins with the wall clock of the machine, and stays there where the server does not contradict", async () => {
  const { it: server, clock } = open(startAt + 7)
  server.tripMs = 20
  await clock.compare()
  expect(clock.now()).toBe(startAt + 27)
})

it("is moved no further than the answer asks for, and a quick answer says more", async () => {
  const { it: server, clock } = open(startAt - 5_000)
  server.tripMs = 200
  await clock.compare()
  expect(Math.abs(clock.now() - server.server)).toBeLessThanOrEqual(100)
  server.tripMs = 2
  await clock.compare()
  expect(Math.abs(clock.now() - server.server)).toBeLessThanOrEqual(1)
})

it("an answer that fits into the time of its way there and back does not move it", async () => {
  const { it: server, clock, pass } = open()
  await clock.compare()
  const at = clock.now()
  server.tripMs = 40
  await clock.compare()
  expect(clock.now()).toBe(at + 40)
  server.server += 15
  await clock.compare()
  expect(clock.now()).toBe(at + 80)
  pass(5)
  expect(clock.now()).toBe(at + 85)
})

it("an answer with a renewal that does not fit moves it, forward and back", async () => {
  const { it: server, clock } = open()
  await clock.compare()
  for (const step of [3_600_000, -7_200_000, 1_500, -1_500]) {
    server.server += step
    clock.noted(clock.sentAt(), server.server)
    expect(clock.now()).toBe(server.server)
  }
})

it("is compared again where nobody has done so for half a minute, and somebody asks it", async () => {
  const { it: server, clock, pass } = open()
  await clock.compare()
  for (let i = 0; i < 29; i++) {
    pass(1_000)
    clock.now()
  }
  await moments()
  expect(server.asked).toBe(1)
  server.server -= 3_600_000
  pass(5_000)
  clock.now()
  clock.now()
  await moments()
  expect(server.asked).toBe(2)
  expect(clock.now()).toBe(server.server)
})

it("goes on where the server does not answer, and asks again later", async () => {
  const { it: server, clock, pass } = open()
  await clock.compare()
  server.isAway = true
  pass(60_000)
  expect(clock.now()).toBe(startAt + 60_000)
  await moments()
  clock.now()
  await moments()
  expect(server.asked).toBe(2)
  server.isAway = false
  server.server += 5_000
  pass(31_000)
  clock.now()
  await moments()
  expect([server.asked, clock.now()]).toEqual([3, server.server])
})
