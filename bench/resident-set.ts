// Memory as the operating system sees it. V8 keeps the pages of the busiest moment in reserve after a collection, and gives
// them back when memory is short, or when it had nothing to do for a while. Both are of interest: what the process occupies, and what it needs.

export interface ResidentSet {
  /** After forced garbage collections. */
  readonly residentMb: number
  /** After V8 was also told that memory is short. */
  readonly neededMb: number
}

export function residentSet(): ResidentSet {
  const residentMb = residentMbNow()
  collector()({ type: "major", execution: "sync", flavor: "last-resort" })
  return { residentMb, neededMb: rssMb() }
}

/** After forced garbage collections, and nothing else. */
export function residentMbNow(): number {
  const gc = collector()
  for (let i = 0; i < 3; i++) gc()
  return rssMb()
}

const rssMb = () => process.memoryUsage.rss() / 2 ** 20

function collector(): NonNullable<typeof globalThis.gc> {
  if (globalThis.gc === undefined) throw new Error("memory is measured in a process with --expose-gc")
  return globalThis.gc
}
