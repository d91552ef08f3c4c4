import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

/** The orders of the generator: how many requests of each kind a second, and for how long. */
export interface LoadPlan {
  readonly url: string
  /** An existing instance, which is read before the generator has started others. */
  readonly first: string
  readonly startsPerSecond: number
  readonly readsPerSecond: number
  readonly seconds: number
}

/** Milliseconds from the due moment of each request until its response was read. */
export interface LoadReport {
  readonly starts: readonly number[]
  readonly reads: readonly number[]
  /** Wrong responses and failed requests. */
  readonly faults: readonly string[]
}

/** The benchmarks run as compiled JavaScript. */
const script = fileURLToPath(new URL("./http-generator.js", import.meta.url))

/** Runs the generator in a process of its own, so that the measured process does not send requests. */
export async function generateLoad(plan: LoadPlan): Promise<LoadReport> {
  const child = fork(script, [JSON.stringify(plan)])
  let report: LoadReport | undefined
  child.on("message", (message: LoadReport) => (report = message))
  await once(child, "close")
  if (report === undefined) throw new Error("the generator died before it said what it saw")
  return report
}
