import { setTimeout as delay } from "node:timers/promises"

/** Looks again and again. False: the time is over, and it is not so yet. */
export async function until(isSo: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const endAt = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > endAt) return false
    await delay(5)
  }
  return true
}
