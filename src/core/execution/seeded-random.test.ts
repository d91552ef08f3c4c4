import { expect, test } from "vitest"
import { SeededRandom } from "./seeded-random.ts"

const draw = (seed: string, count: number) => {
  const random = new SeededRandom(seed)
  return Array.from({ length: count }, () => random.next())
}

test("a seed gives the same numbers for ever", () => {
  expect(draw("incarnation:1", 4)).toEqual([0.837454923646968, 0.6446665147697149, 0.3120129135727767, 0.7498340149363065])
  expect(new SeededRandom("incarnation:1").uuid()).toBe("d663722b-2780-4444-a508-dd4fee190a76")
})

test("seeds that differ little give numbers that have nothing in common", () => {
  const firsts = Array.from({ length: 10_000 }, (_, i) => new SeededRandom(`a:${i}`).next())
  expect(new Set(firsts).size).toBe(firsts.length)
  expect(mean(firsts)).toBeCloseTo(0.5, 1)
})

test("numbers lie in [0, 1), evenly", () => {
  const numbers = draw("even", 100_000)
  expect(Math.min(...numbers.slice(0, 50_000))).toBeGreaterThanOrEqual(0)
  expect(Math.max(...numbers.slice(0, 50_000))).toBeLessThan(1)
  const counts = Array.from({ length: 10 }, () => 0)
  for (const number of numbers) counts[Math.floor(number * 10)]! += 1
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500)
  expect(mean(numbers)).toBeCloseTo(0.5, 2)
})

test("uuids have the form of version 4, and differ", () => {
  const random = new SeededRandom("uuids")
  const uuids = Array.from({ length: 1000 }, () => random.uuid())
  for (const uuid of uuids) expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(uuids).size).toBe(1000)
})

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}
