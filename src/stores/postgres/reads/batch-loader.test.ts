import { expect, it } from "vitest"
import { PerdureError } from "../../../core/errors.ts"
import { BatchLoader } from "./batch-loader.ts"

/** Doubles numbers; fails with the error where one of these is among them. */
function doubling(most: number, bad: readonly number[] = [], error = new Error("unreadable")) {
  const sent: (readonly number[])[] = []
  const gathering = new BatchLoader<number, number>(most, async (asked) => {
    sent.push(asked)
    if (asked.some((n) => bad.includes(n))) throw error
    return asked.map((n) => 2 * n)
  })
  return { sent, read: (...asked: readonly number[]) => Promise.allSettled(asked.map((n) => gathering.read(n))) }
}

const answered = (results: readonly PromiseSettledResult<number>[]) => results.map((result) => (result.status === "fulfilled" ? result.value : "rejected"))

it("what is asked for at the same moment is read together, and everybody has their own answer", async () => {
  const { sent, read } = doubling(3)
  expect(answered(await read(1, 2, 3, 4))).toEqual([2, 4, 6, 8])
  expect(answered(await read(5))).toEqual([10])
  expect(sent).toEqual([[1, 2, 3], [4], [5]])
})

it("one that cannot be read does not keep the others from their answers", async () => {
  const { read } = doubling(10, [2])
  expect(answered(await read(1, 2, 3))).toEqual([2, "rejected", 6])
})

it("a server that is away is not asked again for each", async () => {
  const { sent, read } = doubling(10, [2], new PerdureError("STORE_UNREACHABLE", "away"))
  expect(answered(await read(1, 2, 3))).toEqual(["rejected", "rejected", "rejected"])
  expect(sent).toHaveLength(1)
})
