import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Target } from "./target.ts"
import type { Sample } from "./workload.ts"

/** The state of the process: after two bursts of instances; with sleeping instances; the same after two idle minutes; opened on the database of another process; with instances in memory that wait for an event. */
export type Scene = "worked" | "asleep" | "rested" | "restarted" | "resident"

/** The benchmarks run as compiled JavaScript. */
const script = fileURLToPath(new URL("./memory-process.js", import.meta.url))

/** Plays a scene in a process of its own, so that every scene has a fresh heap. */
export async function playScene(scene: Scene, target: Target, folder: string, count: number, onRest?: () => void): Promise<Sample> {
  const child = fork(script, [scene, target.id, folder, String(count)])
  let sample: Sample | undefined
  child.on("message", (message: Sample | "resting") => {
    if (message === "resting") onRest?.()
    else sample = message
  })
  await once(child, "close")
  if (sample === undefined) throw new Error(`the process of ${count} ${scene} instances died before it said what it needs`)
  return sample
}
