import { setTimeout as delay } from "node:timers/promises"

/** Megabytes of the process after a forced garbage collection, once they do not fall any further. */
export async function residentSetMb(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("memory is measured in a process with --expose-gc")
  let lowest = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 5; attempt++) {
    await globalThis.gc({ type: "major", execution: "async" })
    await delay(20)
    lowest = Math.min(lowest, process.memoryUsage.rss() / 2 ** 20)
  }
  return lowest
}
