import { vi } from "vitest"

/** The time that a test has: whatever comes at all has come by then, also on a machine that is busy. */
const timeout = 100_000

/** Looks again until it does not throw. */
export function soon<T>(look: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(look, { timeout, interval: 10 })
}

/** Looks again until it is so. A promise must not be settled by another object than the one that waits for it, so nobody can be told. */
export function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  return soon(async () => {
    if (!(await isSo())) throw new Error(`it did not come to this: ${what}`)
  })
}
