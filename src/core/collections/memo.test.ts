import { expect, test, vi } from "vitest"
import { memo } from "./memo.ts"

test("an answer is made once", () => {
  const make = vi.fn<(key: string) => { key: string }>((key) => ({ key }))
  const remembered = memo(make, 10)
  expect(remembered("a")).toBe(remembered("a"))
  expect(remembered("b")).toEqual({ key: "b" })
  expect(make).toHaveBeenCalledTimes(2)
})

test("no more answers are kept than allowed", () => {
  const make = vi.fn<(key: number) => number>((key) => key * 2)
  const remembered = memo(make, 3)
  for (const key of [1, 2, 3, 1, 2, 3]) expect(remembered(key)).toBe(key * 2)
  expect(make).toHaveBeenCalledTimes(3)
  expect([remembered(4), remembered(1), remembered(4)]).toEqual([8, 2, 8])
  expect(make).toHaveBeenCalledTimes(5)
})

test("what throws is asked again", () => {
  const make = vi.fn<(key: number) => number>(() => {
    throw new Error("no")
  })
  const remembered = memo(make, 3)
  expect(() => remembered(1)).toThrow("no")
  expect(() => remembered(1)).toThrow("no")
  expect(make).toHaveBeenCalledTimes(2)
})
