import { expect, it, vi } from "vitest"
import { ImmediateRow } from "./immediate-row.ts"

/** So many after each other, each asked for by a promise of the one before. Gives the turns of the event loop that it took. */
async function turnsOf(row: ImmediateRow, count: number): Promise<number> {
  let turns = 0
  let isOver = false
  const turn = () => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  for (let i = 0; i < count; i++) {
    await new Promise<void>((resolve) => row.add(resolve))
    await Promise.resolve()
  }
  isOver = true
  return turns
}

const run = (then: () => void) => then()

it("a thousand that follow each other take a few turns of the event loop", async () => {
  expect(await turnsOf(new ImmediateRow(run, () => 0), 1_000)).toBeLessThan(30)
})

it("those that take long let others in after each", async () => {
  let now = 0
  expect(await turnsOf(new ImmediateRow(run, () => (now += 2)), 1_000)).toBeGreaterThanOrEqual(1_000)
})

it("one that comes alone is not followed by more than a few that nobody asked for", async () => {
  const row = new ImmediateRow(run, () => 0)
  await turnsOf(row, 1_000)
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise<void>((resolve) => row.add(resolve))
  }
  const immediates = vi.spyOn(globalThis, "setImmediate")
  await new Promise<void>((resolve) => row.add(resolve))
  const count = immediates.mock.calls.length
  immediates.mockRestore()
  expect(count).toBeLessThanOrEqual(2)
})

it("one that throws keeps no other from its turn", async () => {
  const failures: unknown[] = []
  const row = new ImmediateRow(
    (then) => {
      try {
        then()
      } catch (error) {
        failures.push(error)
      }
    },
    () => 0,
  )
  const seen: string[] = []
  await new Promise<void>((resolve) => {
    row.add(() => seen.push("first"))
    row.add(() => {
      throw new Error("second")
    })
    row.add(() => {
      seen.push("third")
      resolve()
    })
  })
  expect([seen, failures]).toEqual([["first", "third"], [new Error("second")]])
})
