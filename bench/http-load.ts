import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

/** What the generator is to do: so many of each a second, for so long. */
export interface LoadPlan {
  readonly url: string
  /** An instance that is there, to be read before others are. */
  readonly first: string
  readonly startsPerSecond: number
  readonly readsPerSecond: number
  readonly seconds: number
}

/** Milliseconds from when each request should have been sent until its answer was read. */
export interface LoadReport {
  readonly starts: readonly number[]
  readonly reads: readonly number[]
  /** Answers that were not what they should be, and requests that failed. */
  readonly faults: readonly string[]
}

/** This runs as JavaScript, and so does that. */
const script = fileURLToPath(new URL("./http-generator.js", import.meta.url))

/** In a process of its own: whoever is measured has nothing to do with sending. */
export async function generateLoad(plan: LoadPlan): Promise<LoadReport> {
  const child = fork(script, [JSON.stringify(plan)])
  let report: LoadReport | undefined
  child.on("message", (message: LoadReport) => (report = message))
  await once(child, "close")
  if (report === undefined) throw new Error("the generator died before it said what it saw")
  return report
}
