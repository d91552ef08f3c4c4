import { setTimeout as delay } from "node:timers/promises"
import type { Engine } from "perdure"
import { listener, taker } from "../bench-workflows.ts"
import { openOn } from "../target.ts"
import type { Workload } from "../workload.ts"

const count = 10_000
const tickMs = 5

interface Watched {
  readonly ms: number
  /** How long a timer of the process waited at most beyond its own time, */
  readonly lagMs: number
  /** and how much of the processor this thread had between two firings: where others use the machine, that is what the engine is to blame for. */
  readonly busyMs: number
}

function busyMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

async function watched(run: () => Promise<unknown>): Promise<Watched> {
  const startedAt = performance.now()
  let last = { at: startedAt, busy: busyMs() }
  let most = { lagMs: 0, busyMs: 0 }
  const tick = () => {
    const now = { at: performance.now(), busy: busyMs() }
    most = { lagMs: Math.max(most.lagMs, now.at - last.at - tickMs), busyMs: Math.max(most.busyMs, now.busy - last.busy) }
    last = now
  }
  const timer = setInterval(tick, tickMs)
  try {
    await run()
    tick()
    return { ms: performance.now() - startedAt, ...most }
  } finally {
    clearInterval(timer)
  }
}

const numbers = Array.from({ length: count }, (_, i) => i)

async function toOne(engine: Engine): Promise<Watched> {
  const handle = await engine.start(taker, { input: count })
  while ((await handle.status()) !== "waiting") await delay(1)
  return watched(async () => {
    await Promise.all(numbers.map((i) => handle.sendEvent("go", i)))
    await handle.result()
  })
}

async function toEach(engine: Engine): Promise<Watched> {
  const handles = await Promise.all(numbers.map(() => engine.start(listener, { input: 0 })))
  while (((await engine.count({ status: "waiting" }, "status"))["waiting"] ?? 0) < count) await delay(20)
  return watched(() => Promise.all(handles.map((handle, i) => handle.sendEvent("go", i))))
}

export const burst: Workload = {
  id: "W9",
  targets: ["sqlite", "postgres"],
  title: `${count} events at once to one instance that waits for them one by one, until it is completed; and one event to each of ${count} instances`,
  figures: [
    { key: "perSecond", label: "events a second to one instance", unit: "events/s" },
    { key: "lagMs", label: "the longest wait of a timer meanwhile", unit: "ms" },
    { key: "busyMs", label: "the most processor time between two firings of that timer", unit: "ms", goal: { of: "figure", bound: "at most", limit: 50 } },
    { key: "eachPerSecond", label: `events a second to ${count} instances`, unit: "events/s" },
    { key: "eachLagMs", label: "the longest wait of a timer meanwhile", unit: "ms" },
    { key: "eachBusyMs", label: "the most processor time between two firings of that timer", unit: "ms", goal: { of: "figure", bound: "at most", limit: 50 } },
  ],
  async prepare(folders, { target }) {
    return async () => {
      await using engine = await openOn(target, folders.create())
      const one = await toOne(engine)
      const each = await toEach(engine)
      const perSecond = ({ ms }: Watched) => (count * 1_000) / ms
      const ofOne = { perSecond: perSecond(one), lagMs: one.lagMs, busyMs: one.busyMs }
      return { ...ofOne, eachPerSecond: perSecond(each), eachLagMs: each.lagMs, eachBusyMs: each.busyMs }
    }
  },
}
