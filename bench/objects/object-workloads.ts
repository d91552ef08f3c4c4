import { crowdLeavesMs } from "./crowd-leaves.ts"
import { type ObjectEngine, wait } from "./object-engine.ts"

export type Measure = (engine: ObjectEngine) => Promise<Readonly<Record<string, number>>>

const times = <T>(count: number, fn: (index: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, index) => fn(index)))

/** Measures a call. The clock of a Worker moves only with its requests. */
async function timed(fn: () => Promise<unknown>): Promise<number> {
  await wait(1)
  const startedAt = Date.now()
  await fn()
  await wait(1)
  return Math.max(1, Date.now() - startedAt - 1)
}

async function repeated(count: number, fn: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i++) await fn()
}

function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

/** The median of whole milliseconds. Its fraction is the place of the middle among the values of the same millisecond. */
function medianOfWholes(values: readonly number[]): number {
  const middle = quantile(values, 0.5)
  const before = values.filter((value) => value < middle).length
  const same = values.filter((value) => value === middle).length
  return middle - 0.5 + (values.length / 2 - before) / same
}

export const workloads: Readonly<Record<string, Measure>> = {
  /** 500 instances of 10 steps, all at once. */
  async W1(engine) {
    await engine.prepare?.()
    const perSecond = 500_000 / (await timed(() => times(500, () => engine.run(10))))
    if (engine.runWatched === undefined) return { perSecond }
    await wait(crowdLeavesMs)
    return { perSecond, watchedPerSecond: 500_000 / (await timed(() => times(500, async () => engine.runWatched?.(10)))) }
  },
  /** Instances of one step, one after another. */
  async W2(engine) {
    await engine.prepare?.()
    const meanMs = (await timed(() => repeated(100, () => engine.run(1)))) / 100
    if (engine.runWatched === undefined) return { meanMs }
    return { meanMs, watchedMs: (await timed(() => repeated(50, async () => engine.runWatched?.(1)))) / 50 }
  },
  /** Instances of 1,000 steps, one after another, and one instance of 10,000 steps. */
  async W3(engine) {
    await engine.prepare?.()
    const stepMs = (await timed(() => repeated(5, () => engine.run(1_000)))) / 5_000
    if (engine.grows) return { stepMs, longStepMs: (await timed(() => engine.run(10_000))) / 10_000 }
    if (engine.runCoalesced === undefined) return { stepMs }
    return { stepMs, coalescedMs: (await timed(async () => engine.runCoalesced?.(1_000))) / 1_000 }
  },
  /** Instances of 100 concurrent steps, one after another. */
  async W4(engine) {
    await engine.prepare?.()
    return { ms: (await timed(() => repeated(50, () => engine.run(100, true)))) / 50 }
  },
  /** The time from the event to the end, 40 times, at moments that do not align with polling. */
  async W5(engine) {
    await engine.prepare?.()
    const durations: number[] = []
    if (engine.awaiting === undefined) throw new Error("it has no events")
    for (let i = 0; i < 40; i++) {
      const send = await engine.awaiting()
      await wait(Math.random() * 20)
      durations.push(await timed(send))
    }
    return { p50Ms: medianOfWholes(durations) }
  },
  /** Events that are sent to one instance at once: 1,000, and then 10,000 to another. */
  async W9(engine) {
    const taking = engine.taking?.bind(engine)
    if (taking === undefined) return {}
    const perSecond = async (events: number) => (events * 1_000) / (await timed(await taking(events)))
    return { fewPerSecond: await perSecond(1_000), perSecond: await perSecond(10_000) }
  },
  /** 100 instances that sleep for a second. */
  async W7(engine) {
    const sleepers = await times(100, () => engine.sleep(1_000))
    // Read when all instances are awake, because the calls would delay sleeping instances.
    const late = await times(sleepers.length, async (at) => sleepers[at]?.() ?? Number.NaN)
    return { p99Ms: Math.max(1, quantile(late, 0.99)), p50Ms: Math.max(1, quantile(late, 0.5)) }
  },
}
