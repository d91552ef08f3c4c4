import fc from "fast-check"
import { expect, test, vi } from "vitest"
import { NonRetryableError, PerdureError } from "../errors.ts"
import { mergeRetry, nextRetryMs, type RetryFunction, type RetryOptions } from "./retry-policy.ts"

const middle = () => 0.5
const error = new Error("no")
const delays = (retry: RetryOptions | undefined, count: number) => {
  const policy = mergeRetry(retry)
  return Array.from({ length: count }, (_, i) => nextRetryMs(policy, { failures: i + 1, error, random: middle }))
}

test("by default there are three attempts, one and two seconds apart", () => {
  expect(delays(undefined, 4)).toEqual([1000, 2000, undefined, undefined])
})

test.each<[string, RetryOptions, (number | undefined)[]]>([
  ["fixed", { backoff: "fixed", maxAttempts: 5 }, [1000, 1000, 1000, 1000, undefined]],
  ["linear", { backoff: "linear", maxAttempts: 5 }, [1000, 2000, 3000, 4000, undefined]],
  ["exponential", { backoffCoefficient: 3, initialInterval: "2s", maxAttempts: 4 }, [2000, 6000, 18_000, undefined]],
  ["capped", { maxInterval: "3s", maxAttempts: Infinity }, [1000, 2000, 3000, 3000, 3000]],
  ["one attempt", { maxAttempts: 1 }, [undefined]],
  ["at once", { initialInterval: 0, maxAttempts: 3 }, [0, 0, undefined]],
])("%s backoff", (_, retry, expected) => {
  expect(delays(retry, expected.length)).toEqual(expected)
})

test("attempts without end stay at the longest interval, or at none", () => {
  const failures = 100_000
  expect(nextRetryMs(mergeRetry({ maxAttempts: Infinity }), { failures, error, random: middle })).toBe(300_000)
  expect(nextRetryMs(mergeRetry({ maxAttempts: Infinity, initialInterval: 0 }), { failures, error, random: middle })).toBe(0)
})

test("jitter spreads an interval evenly about itself, after the cap", () => {
  const policy = mergeRetry({ initialInterval: "1h", maxInterval: "10s" })
  const at = (random: number) => nextRetryMs(policy, { failures: 1, error, random: () => random })
  expect([at(0), at(0.5), at(1)]).toEqual([9000, 10_000, 11_000])
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (random, jitter) => {
      const ms = nextRetryMs(mergeRetry({ jitter, initialInterval: 1000 }), { failures: 1, error, random: () => random }) as number
      return Number.isInteger(ms) && ms >= Math.floor(1000 * (1 - jitter)) && ms <= Math.ceil(1000 * (1 + jitter))
    }),
  )
})

test("fields of the step win over the workflow's, and these over the engine's", () => {
  const policy = mergeRetry(
    { maxAttempts: 9, initialInterval: 50, jitter: 0 },
    { initialInterval: 70, backoff: "fixed" },
    { maxAttempts: 2, initialInterval: undefined! },
  )
  const next = (failures: number) => nextRetryMs(policy, { failures, error, random: () => 0 })
  expect([next(1), next(2)]).toEqual([70, undefined])
})

test("a function replaces what is before it, and is replaced as a whole", () => {
  const decide = vi.fn<RetryFunction>((_error, attempt) => (attempt < 3 ? "2s" : false))
  const policy = mergeRetry({ maxAttempts: 1 }, decide)
  expect([1, 2, 3].map((failures) => nextRetryMs(policy, { failures, error, random: middle }))).toEqual([2000, 2000, undefined])
  expect(decide).toHaveBeenCalledWith(error, 3)
  expect(nextRetryMs(mergeRetry({ initialInterval: 5 }, decide, { maxAttempts: 2 }), { failures: 1, error, random: middle })).toBe(1000)
})

test("a jitter alone leaves a function as it is", () => {
  const policy = mergeRetry(() => "7s", { jitter: 0 })
  expect(nextRetryMs(policy, { failures: 1, error, random: () => 0 })).toBe(7000)
  expect(nextRetryMs(mergeRetry(undefined, { jitter: 0 }), { failures: 2, error, random: () => 0 })).toBe(2000)
  expect(() => mergeRetry(() => "7s", { jitter: 2 })).toThrow(/jitter/)
})

test("what a function answers must be a duration", () => {
  const policy = mergeRetry(() => "soon" as "1s")
  expect(() => nextRetryMs(policy, { failures: 1, error, random: middle })).toThrow(/the retry function's answer: "soon" is not a duration/)
  const without = mergeRetry(() => null as never)
  expect(() => nextRetryMs(without, { failures: 1, error, random: middle })).toThrow(/the retry function's answer: null/)
})

test("a NonRetryableError ends it, whoever's it is and whatever the policy", () => {
  const named = Object.assign(new Error("no"), { name: "NonRetryableError" })
  const foreign = Object.defineProperty(Object.assign(new Error("no"), { code: "NON_RETRYABLE" }), Symbol.for("perdure.error"), { value: true })
  for (const stop of [new NonRetryableError("no"), named, foreign])
    for (const retry of [undefined, () => 5]) expect(nextRetryMs(mergeRetry(retry), { failures: 1, error: stop, random: middle })).toBeUndefined()
  expect(nextRetryMs(mergeRetry(), { failures: 1, error: "NonRetryableError", random: middle })).toBe(1000)
})

test.each<[unknown, RegExp]>([
  [{ maxAttempts: 0 }, /retry.maxAttempts is 0, but must be a whole number from 1 on/],
  [{ maxAttempts: 1.5 }, /maxAttempts/],
  [{ maxAttempts: "3" }, /retry.maxAttempts is "3"/],
  [{ backoff: "cubic" }, /retry.backoff is "cubic", but must be "exponential", "linear" or "fixed"/],
  [{ backoffCoefficient: 0.5 }, /backoffCoefficient/],
  [{ jitter: 2 }, /jitter is 2, but must be a number from 0 to 1/],
  [{ jitter: true }, /jitter/],
  [{ attempts: 3 }, /retry.attempts is not an option; the options are maxAttempts, initialInterval/],
  [3, /retry is 3, but must be an object or a function/],
  [null, /retry is null/],
])("%j is refused", (retry, message) => {
  expect(() => mergeRetry(retry as RetryOptions)).toThrow(message)
  expect(() => mergeRetry(retry as RetryOptions)).toThrow(expect.toSatisfy((thrown) => PerdureError.is(thrown, "BAD_OPTION")))
})

test("a bad interval is named", () => {
  expect(() => mergeRetry(undefined, { initialInterval: "soon" as "1s" })).toThrow(/^retry.initialInterval: "soon"/)
})

test("an interval that was asked for is not cut down to the default maximum", () => {
  const policy = mergeRetry(undefined, { initialInterval: "1h", backoff: "fixed", jitter: 0 })
  expect(nextRetryMs(policy, { failures: 1, error: new Error("x"), random: () => 0.5 })).toBe(3_600_000)
  const capped = mergeRetry(undefined, { initialInterval: "1h", maxInterval: "1m", jitter: 0 })
  expect(nextRetryMs(capped, { failures: 1, error: new Error("x"), random: () => 0.5 })).toBe(60_000)
})
