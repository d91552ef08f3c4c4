// Activities that run in processes of their own, on PostgreSQL. The measured process runs their workflows.

import { setTimeout as delay } from "node:timers/promises"
import { type Engine, Perdure } from "perdure"
import { mean, median, quantile } from "../statistics.ts"
import { floorOn, type Target } from "../target.ts"
import type { Folders, Workload } from "../workload.ts"

const workers = 2
const instances = 1_000
const perInstance = 10
const fans = 100
const perFan = 100
const asks = 200
const idleSeconds = 30
/** The claims and the announcement of a worker that begins are no idleness. */
const settleMs = 2_000

// Loaded on demand, because the memory of processes without activities is measured as well.
const loadWorkers = () => import("./activity-workers.ts")
const loadWorkflows = () => import("./activity-workflows.ts")

async function openWorkflows(target: Target, folder: string): Promise<Engine> {
  const { activityWorkflows } = await loadWorkflows()
  return Perdure.open({ store: target.store(folder), workflows: activityWorkflows })
}

const throughput: Workload = {
  id: "activities-throughput",
  targets: ["postgres"],
  title: `${instances * perInstance} activities that do nothing, in ${workers} processes that run only activities: ${instances} instances of ${perInstance} activities one after another, and ${fans} instances of ${perFan} at once; all instances are started at once`,
  figures: [
    { key: "perSecond", label: "activities one after another", unit: "/s", goal: { of: "figure", bound: "at least", limit: 3_000 } },
    { key: "fanPerSecond", label: "activities at once", unit: "/s", goal: { of: "figure", bound: "at least", limit: 3_000 } },
  ],
  async prepare(folders, { target }) {
    const { ActivityWorkers } = await loadWorkers()
    const { activitySequence, activityFan } = await loadWorkflows()
    return async () => {
      const folder = folders.create()
      await using engine = await openWorkflows(target, folder)
      await using _processes = await ActivityWorkers.start(target, folder, workers)
      const perSecond = async (workflow: typeof activitySequence, count: number, each: number) => {
        const startedAt = performance.now()
        const handles = await Promise.all(Array.from({ length: count }, () => engine.start(workflow, { input: each })))
        await Promise.all(handles.map((handle) => handle.result()))
        return (count * each * 1000) / (performance.now() - startedAt)
      }
      // The processes are new, and their code is cold.
      await perSecond(activitySequence, instances, perInstance)
      return { perSecond: await perSecond(activitySequence, instances, perInstance), fanPerSecond: await perSecond(activityFan, fans, perFan) }
    }
  },
}

/** Milliseconds from the ask to the start of the activity's function, one activity at a time, after pauses that do not align with any timer. */
async function askDelays(target: Target, folder: string): Promise<readonly number[]> {
  const { ActivityWorkers } = await loadWorkers()
  const { askOnce } = await loadWorkflows()
  await using engine = await openWorkflows(target, folder)
  await using _processes = await ActivityWorkers.start(target, folder, workers)
  const delays: number[] = []
  for (let i = 0; i < asks; i++) {
    await delay(Math.random() * 20)
    const handle = await engine.start(askOnce)
    delays.push(await handle.result())
  }
  return delays
}

async function floorOf(target: Target, folders: Folders) {
  const captured = folders.create()
  await askDelays(target, captured)
  return floorOn(target, folders, captured)
}

const start: Workload = {
  id: "activities-start",
  targets: ["postgres"],
  title: `from the ask of a workflow to the start of the function in one of ${workers} other processes, one activity at a time, ${asks} times after random pauses`,
  figures: [
    {
      key: "p50Ms",
      label: "ask to start, p50, in raw commits",
      unit: "ms",
      floor: { key: "rawCommitMs", unit: "ms" },
      goal: { of: "figure", bound: "at most", limit: 5 },
    },
    { key: "p99Ms", label: "ask to start, p99", unit: "ms" },
  ],
  async prepare(folders, { target }) {
    const floor = await floorOf(target, folders)
    return async () => {
      await using raw = await floor.rawCommits()
      // Before and after, as the speed of the disk drifts.
      const before = await raw.take(asks / 2)
      const delays = await askDelays(target, folders.create())
      return { p50Ms: median(delays), p99Ms: quantile(delays, 0.99), rawCommitMs: mean([...before, ...(await raw.take(asks / 2))]) }
    }
  },
}

const idle: Workload = {
  id: "activities-idle",
  targets: ["postgres"],
  title: `a process that runs only activities, and gets none for ${idleSeconds} s`,
  figures: [{ key: "perSecond", label: "statements to the server", unit: "/s", goal: { of: "figure", bound: "at most", limit: 1 } }],
  async prepare(folders, { target }) {
    const { ActivityWorkers } = await loadWorkers()
    return async () => {
      await using process = await ActivityWorkers.start(target, folders.create(), 1)
      await delay(settleMs)
      const before = await process.statements()
      await delay(idleSeconds * 1000)
      return { perSecond: ((await process.statements()) - before) / idleSeconds }
    }
  },
}

export const activityWorkloads: readonly Workload[] = [throughput, start, idle]
