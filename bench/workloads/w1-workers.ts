import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Perdure } from "perdure"
import { sequence, slowSequence, workflows } from "../bench-workflows.ts"
import type { Target } from "../target.ts"
import type { Workload } from "../workload.ts"

/** This runs as JavaScript, and so does that. */
const script = fileURLToPath(new URL("../worker-process.js", import.meta.url))

const instances = 1_000
/** Enough for code and plans to get warm; in steps that wait, more would be time without news. */
const slowWarmUp = 100
const steps = 10
const stepMs = 5
const stepsAtATime = 10

/**
 * Steps a second that so many workers do for a client. Before that comes one round for each worker, so that each has done what a single one has:
 * two that share one round are half as warm.
 */
async function perSecond(target: Target, folder: string, workers: number, isSlow: boolean): Promise<number> {
  const args = [target.id, folder, isSlow ? String(stepsAtATime) : ""]
  const children = Array.from({ length: workers }, () => fork(script, args))
  try {
    await Promise.all(children.map((child) => once(child, "message")))
    await using client = await Perdure.open({ store: target.store(folder), workflows, role: "client" })
    const workflow = isSlow ? slowSequence : sequence
    const run = async (count: number) => {
      const startedAt = performance.now()
      const handles = await Promise.all(Array.from({ length: count }, () => client.start(workflow, { input: steps })))
      await Promise.all(handles.map((handle) => handle.result()))
      return (count * steps * 1000) / (performance.now() - startedAt)
    }
    for (let i = 0; i < workers; i++) await run(isSlow ? slowWarmUp : instances)
    return await run(instances)
  } finally {
    await Promise.all(
      children.map(async (child) => {
        const ended = once(child, "exit")
        child.disconnect()
        await ended
      }),
    )
  }
}

export const workers: Workload = {
  id: "W1-workers",
  targets: ["postgres"],
  title: `a client starts ${instances} instances of ${steps} steps, as in W1, and again with steps that wait ${stepMs} ms; each worker runs ${stepsAtATime} steps at a time; two workers ÷ one`,
  figures: [
    {
      key: "slowTwo",
      label: `steps that wait ${stepMs} ms, two workers ÷ one`,
      unit: "steps/s",
      floor: { key: "slowOne", unit: "steps/s" },
      goal: { of: "ratio", bound: "at least", limit: 1.6 },
    },
    {
      key: "fastTwo",
      label: "steps that do nothing, two workers ÷ one",
      unit: "steps/s",
      floor: { key: "fastOne", unit: "steps/s" },
      goal: { of: "ratio", bound: "at least", limit: 1 },
    },
  ],
  async prepare(folders, { target, progress }) {
    const measure = (count: number, isSlow: boolean) => {
      progress(`${count === 1 ? "one worker" : "two workers"}, steps that ${isSlow ? "wait" : "do nothing"}`)
      return perSecond(target, folders.create(), count, isSlow)
    }
    return async () => ({
      slowOne: await measure(1, true),
      slowTwo: await measure(2, true),
      fastOne: await measure(1, false),
      fastTwo: await measure(2, false),
    })
  },
}
