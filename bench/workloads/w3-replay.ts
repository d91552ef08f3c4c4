import { listener } from "../bench-workflows.ts"
import { openOn } from "../target.ts"
import type { Workload } from "../workload.ts"

const steps = 10_000
/** The process warms up with one and measures the others; made at once, as they share their commits then. */
const made = 12

export const replay: Workload = {
  id: "W3-replay",
  targets: ["sqlite", "postgres"],
  title: `an event wakes an instance of ${steps} recorded steps that is not in memory: claim, replay, result`,
  figures: [
    {
      key: "replayMs",
      label: `from the event to the result, ${steps} steps replayed`,
      unit: "ms",
      goal: { of: "figure", bound: "at most", limit: 100 },
      goals: { postgres: undefined },
    },
  ],
  async prepare(folders, { target }) {
    const folder = folders.create()
    const recording = await openOn(target, folder)
    const ids = Array.from({ length: made }, (_, i) => `listener-${i}`)
    for (const id of ids) await recording.start(listener, { id, input: steps })
    for (const id of ids) while ((await recording.get(id).status()) !== "waiting") await new Promise((resolve) => setTimeout(resolve, 50))
    await recording.close()
    return async () => {
      const id = ids.pop()
      if (id === undefined) throw new Error(`there are ${made} instances to replay, and no more rounds than that`)
      const engine = await openOn(target, folder)
      try {
        const startedAt = performance.now()
        const handle = engine.get(listener, id)
        await handle.sendEvent("go", 7)
        const result = await handle.result()
        const replayMs = performance.now() - startedAt
        if (result !== 7) throw new Error(`the result is ${String(result)}`)
        return { replayMs }
      } finally {
        await engine.close()
      }
    }
  },
}
