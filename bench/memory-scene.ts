import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Target } from "./target.ts"
import type { Sample } from "./workload.ts"

/** So many instances done, twice; so many asleep; the same, and nothing to do for two minutes; opened again on what another left; so many in memory that wait for an event. */
export type Scene = "worked" | "asleep" | "rested" | "restarted" | "resident"

/** This runs as JavaScript, and so does that. */
const script = fileURLToPath(new URL("./memory-process.js", import.meta.url))

/** In a process of its own, which is gone when this returns: every scene has a fresh heap. */
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
