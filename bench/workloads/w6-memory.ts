import { playScene } from "../memory-scene.ts"
import type { Workload } from "../workload.ts"
import { instances } from "./w1-throughput.ts"

export const memory: Workload = {
  id: "W6",
  targets: ["sqlite", "postgres"],
  title: "memory of the process after W1, the engine open",
  processPerRound: true,
  figures: [
    { key: "residentMb", label: "resident set", unit: "MB", goal: { of: "figure", bound: "at most", limit: 130 } },
    { key: "neededMb", label: "the same after V8 has released its reserve", unit: "MB" },
  ],
  async prepare(folders, { target }) {
    return () => playScene("worked", target, folders.create(), instances)
  },
}
