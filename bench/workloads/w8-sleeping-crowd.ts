import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { sequence } from "../bench-workflows.ts"
import { openEngine } from "../engine-on-disk.ts"
import { residentSet } from "../resident-set.ts"
import type { Sample, Workload } from "../workload.ts"

const instances = 100_000
const script = fileURLToPath(new URL("../sleeping-crowd.ts", import.meta.url))

/** In a process of its own, which is gone when this returns: the one that is started again has a fresh heap. */
async function putToSleep(folder: string): Promise<Sample> {
  const child = fork(script, [folder, String(instances)])
  let sample: Sample | undefined
  child.on("message", (message: Sample) => (sample = message))
  await once(child, "close")
  if (sample === undefined) throw new Error("the instances did not get to sleep")
  return sample
}

export const sleepingCrowd: Workload = {
  id: "W8",
  title: `${instances} sleeping instances: memory, and a restart after the death of the process`,
  processPerRound: true,
  figures: [
    { key: "residentMb", label: "resident set when all sleep", unit: "MB", goal: { of: "figure", bound: "at most", limit: 150 } },
    { key: "neededMb", label: "the same without what V8 holds in reserve", unit: "MB" },
    {
      key: "readyMs",
      label: "restart: open until a new instance of one step is completed",
      unit: "ms",
      goal: { of: "figure", bound: "at most", limit: 2_000 },
    },
    { key: "restartedMb", label: "resident set after the restart", unit: "MB", goal: { of: "figure", bound: "at most", limit: 150 } },
    { key: "asleepPerSecond", label: "instances a second, from start to sleep", unit: "/s" },
  ],
  async prepare(folders) {
    return async () => {
      const folder = folders.create()
      const { asleepMs = Number.NaN, ...crowd } = await putToSleep(folder)
      const startedAt = performance.now()
      const engine = await openEngine(folder)
      const result = await (await engine.start(sequence, { input: 1 })).result()
      const readyMs = performance.now() - startedAt
      if (result !== 1) throw new Error(`the result is ${String(result)}`)
      const restarted = residentSet()
      await engine.close()
      return { ...crowd, readyMs, restartedMb: restarted.residentMb, asleepPerSecond: (instances * 1000) / asleepMs }
    }
  },
}
