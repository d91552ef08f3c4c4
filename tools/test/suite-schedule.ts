import type { Suite } from "./suites.ts"

/**
 * Starts suites in the order of the list, at most `atOnceMax` at a time, and returns their results in that order. A suite waits for the suites that its `after`
 * names, and for a running suite of its own `lane`. The suites that run alone come last, one at a time.
 */
export async function runOnSchedule<S extends Suite, R>(suites: readonly S[], atOnceMax: number, run: (suite: S) => Promise<R>): Promise<readonly R[]> {
  const results = new Map<S, R>()
  const waiting = suites.filter((suite) => !suite.alone)
  const running = new Map<S, Promise<void>>()

  const hasToWait = (suite: S) =>
    waiting.concat(...running.keys()).some((other) => suite.after?.includes(other.name)) ||
    [...running.keys()].some(({ lane }) => lane !== undefined && lane === suite.lane)
  const start = (suite: S) => {
    waiting.splice(waiting.indexOf(suite), 1)
    const ended = run(suite).then((result) => {
      results.set(suite, result)
      running.delete(suite)
    })
    running.set(suite, ended)
  }

  while (waiting.length > 0 || running.size > 0) {
    for (let next: S | undefined; running.size < atOnceMax && (next = waiting.find((suite) => !hasToWait(suite)));) start(next)
    if (running.size === 0) throw new Error(`these suites wait for each other: ${waiting.map(({ name }) => name).join(", ")}`)
    await Promise.race(running.values())
  }
  for (const suite of suites) if (suite.alone) results.set(suite, await run(suite))
  return suites.map((suite) => results.get(suite) as R)
}
