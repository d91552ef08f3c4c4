import { expect, it } from "vitest"
import { PacedQueue } from "./paced-queue.ts"

/** A queue whose macrotasks pass when the test says so. */
function scene() {
  let due: (() => void)[] = []
  const line = new PacedQueue({ quiesce: (then) => void due.push(then) })
  const gone: number[] = []
  const enter = async (number: number) => {
    await line.enter()
    gone.push(number)
  }
  const pass = async () => {
    const now = due
    due = []
    for (const then of now) then()
    for (let hop = 0; hop < 5; hop++) await Promise.resolve()
  }
  return { enter, pass, gone, pending: () => due.length }
}

const numbers = (length: number) => Array.from({ length }, (_, index) => index)

it("a crowd continues a few hundred at a time, in the order of arrival", async () => {
  const { enter, pass, gone } = scene()
  const all = numbers(600).map((number) => enter(number))
  for (let hop = 0; hop < 5; hop++) await Promise.resolve()
  expect(gone).toEqual(numbers(256))
  await pass()
  expect(gone).toEqual(numbers(512))
  all.push(enter(600))
  await pass()
  await Promise.all(all)
  expect(gone).toEqual(numbers(601))
})

it("single callers do not wait, and nothing stays scheduled after them", async () => {
  const { enter, pass, gone, pending } = scene()
  for (const number of numbers(3)) {
    await enter(number)
    await pass()
  }
  expect(gone).toEqual(numbers(3))
  expect(pending()).toBe(0)
})
