// Memory as the operating system sees it. V8 keeps the pages of the busiest moment in reserve after a collection, and gives
// them back only when memory is short. Both are of interest: what the process occupies, and what it needs.

export interface ResidentSet {
  /** After forced garbage collections. */
  readonly residentMb: number
  /** After V8 was also told that memory is short. */
  readonly neededMb: number
}

export function residentSet(): ResidentSet {
  const { gc } = globalThis
  if (gc === undefined) throw new Error("memory is measured in a process with --expose-gc")
  const rssMb = () => process.memoryUsage.rss() / 2 ** 20
  for (let i = 0; i < 3; i++) gc()
  const residentMb = rssMb()
  gc({ type: "major", execution: "sync", flavor: "last-resort" })
  return { residentMb, neededMb: rssMb() }
}
