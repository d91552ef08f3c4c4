import type { Engine } from "perdure"
import { sequence } from "./bench-workflows.ts"

export const steps = 10

/** Starts `instances` instances at once, and returns the milliseconds from the first start to the last result. */
export async function runThroughput(engine: Engine, instances: number): Promise<number> {
  const startedAt = performance.now()
  const results = await Promise.all(
    Array.from({ length: instances }, async () => {
      const handle = await engine.start(sequence, { input: steps })
      return handle.result()
    }),
  )
  const ms = performance.now() - startedAt
  if (results.some((result) => result !== steps)) throw new Error("an instance has another result than it should")
  return ms
}
