import { vi } from "vitest"

/** The time of a test, which is long enough also on a busy machine. */
const timeout = 100_000

/** Repeats a check until it does not throw. */
export function soon<T>(look: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(look, { timeout, interval: 10 })
}

/** Polls until a condition holds. An object must not settle a promise that another object awaits, so there is no signal. */
export function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  return soon(async () => {
    if (!(await isSo())) throw new Error(`it did not come to this: ${what}`)
  })
}
