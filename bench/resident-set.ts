// Memory as the operating system sees it. After a collection V8 keeps the pages of the busiest moment in reserve, and returns
// them when memory is short, or after a time without work. Both values are reported: the memory that the process occupies, and the memory that it needs.

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
