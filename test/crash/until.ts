import { setTimeout as delay } from "node:timers/promises"

/** Polls a condition. Resolves to false if it does not hold within the time. */
export async function until(isSo: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const endAt = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > endAt) return false
    await delay(5)
  }
  return true
}
