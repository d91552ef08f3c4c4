import { playScene } from "../memory-scene.ts"
import type { Workload } from "../workload.ts"

const instances = 100_000

export const sleepingCrowd: Workload = {
  id: "W8",
  targets: ["sqlite", "postgres"],
  title: `${instances} sleeping instances: memory, and a restart after the death of the process`,
  processPerRound: true,
  figures: [
    {
      key: "residentMb",
      label: "resident set when all sleep, in the process that started them, after two minutes of rest",
      unit: "MB",
      goal: { of: "figure", bound: "at most", limit: 150 },
    },
    { key: "startedMb", label: "the same at once, before V8 has released its reserve", unit: "MB" },
    {
      key: "readyMs",
      label: "restart: open until a new instance of one step is completed",
      unit: "ms",
      goal: { of: "figure", bound: "at most", limit: 2_000 },
    },
    { key: "restartedMb", label: "resident set after the restart", unit: "MB", goal: { of: "figure", bound: "at most", limit: 150 } },
    { key: "asleepPerSecond", label: "instances a second, from start to sleep", unit: "/s" },
  ],
  async prepare(folders, { target, progress, resting }) {
    return async () => {
      const folder = folders.create()
      const onRest = () => {
        progress("all sleep, and nothing is done for two minutes")
        resting()
      }
      const { asleepMs = Number.NaN, ...crowd } = await playScene("rested", target, folder, instances, onRest)
      const { readyMs = Number.NaN, residentMb: restartedMb = Number.NaN } = await playScene("restarted", target, folder, instances)
      return { ...crowd, readyMs, restartedMb, asleepPerSecond: (instances * 1000) / asleepMs }
    }
  },
}
