// Frequent operations of users, on a store that may contain many other instances. Every figure is a median of many calls.

import { setTimeout as delay } from "node:timers/promises"
import type { Engine, ListFilter } from "perdure"
import { listener, sequence, sleeper } from "./bench-workflows.ts"
import { median } from "./statistics.ts"
import { openOn, type Target } from "./target.ts"
import type { Sample } from "./workload.ts"

const count = 100
const lists = 30
const sleepers = 20
/** Long enough for all operations before it. The instances wake one at a time, so that each is claimed alone. */
const sleepMs = 2_500
const apartMs = 20
const longMs = 30 * 24 * 3_600_000

/** Other instances, so that a page is full also in an empty store. */
const company = 200
const pageSize = 50

export class CrowdedOperations {
  readonly #target: Target
  readonly #folder: string
  /** The cursor of the page in the middle of all instances. */
  readonly #cursor: string
  #round = 0

  private constructor(target: Target, folder: string, cursor: string) {
    this.#target = target
    this.#folder = folder
    this.#cursor = cursor
  }

  static async on(target: Target, folder: string): Promise<CrowdedOperations> {
    await using engine = await openOn(target, folder)
    await engine.startBatch(Array.from({ length: company }, () => ({ workflow: sleeper, input: longMs })))
    while (((await engine.count({ workflow: "sleeper" }, "status"))["sleeping"] ?? 0) < company) await delay(5)
    return new CrowdedOperations(target, folder, await middleOf(engine))
  }

  async measure(): Promise<Sample> {
    const round = ++this.#round
    const before = await this.#whileNew(round)
    return { ...before, ...(await this.#afterRestart(round)) }
  }

  async #whileNew(round: number): Promise<Sample> {
    await using engine = await openOn(this.#target, this.#folder)
    const startMs: number[] = []
    const resultMs: number[] = []
    for (let i = 0; i < count; i++) {
      const startedAt = performance.now()
      const handle = await engine.start(sequence, { input: 1 })
      startMs.push(performance.now() - startedAt)
      await handle.result()
      resultMs.push(performance.now() - startedAt)
    }
    await Promise.all(Array.from({ length: count }, (_, i) => engine.start(listener, { id: nameOf("listener", round, i), input: 0 })))
    const listed = await this.#lists(engine)
    await Promise.all(Array.from({ length: sleepers }, (_, i) => engine.start(sleeper, { id: nameOf("sleeper", round, i), input: sleepMs + i * apartMs })))
    return { startMs: median(startMs), resultMs: median(resultMs), ...listed }
  }

  async #lists(engine: Engine): Promise<Sample> {
    const pageMs = (filter: ListFilter, size = pageSize) =>
      medianMs(lists, async () => {
        const { instances } = await engine.list({ limit: pageSize, ...filter })
        if (instances.length !== size) throw new Error(`a page has ${instances.length} instances instead of ${size}`)
      })
    return {
      firstPageMs: await pageMs({}),
      filteredPageMs: await pageMs({ workflow: "sleeper", status: "sleeping" }),
      deepPageMs: await pageMs({ cursor: this.#cursor }),
      missMs: await pageMs({ workflow: "fan", status: "sleeping" }, 0),
      countMs: await medianMs(lists, () => engine.count({}, "status")),
    }
  }

  /** Measures events and sleeps of instances that are not in memory. */
  async #afterRestart(round: number): Promise<Sample> {
    await using engine = await openOn(this.#target, this.#folder)
    const openedAt = Date.now()
    const claimMs = await medianMs(count, async (i) => {
      const handle = engine.get(listener, nameOf("listener", round, i))
      await handle.sendEvent("go", i)
      await handle.result()
    })
    const late = Array.from({ length: sleepers }, async (_, i) => {
      const handle = engine.get(sleeper, nameOf("sleeper", round, i))
      const wokenAt = await handle.result()
      const [nap] = await handle.steps()
      if (nap?.wakeAt === undefined) throw new Error("the sleep does not say when it was to end")
      if (nap.wakeAt < openedAt) throw new Error("the engine was opened too late for a sleeper; nothing is known of its wake-up")
      return wokenAt - nap.wakeAt
    })
    // The clock has whole milliseconds, so on average half a millisecond more has passed.
    return { claimMs, wakeMs: median(await Promise.all(late)) + 0.5 }
  }
}

const nameOf = (kind: string, round: number, i: number) => `${kind}-${round}-${i}`

async function medianMs(times: number, run: (i: number) => Promise<unknown>): Promise<number> {
  const latencies: number[] = []
  for (let i = 0; i < times; i++) {
    const startedAt = performance.now()
    await run(i)
    latencies.push(performance.now() - startedAt)
  }
  return median(latencies)
}

/** Reads half of all instances, page by page, as a user would. */
async function middleOf(engine: Engine): Promise<string> {
  const total = Object.values(await engine.count({}, "status")).reduce((sum, number) => sum + number, 0)
  const limit = Math.min(1_000, Math.floor(total / 2))
  let cursor: string | undefined
  for (let passed = 0; passed < total / 2; passed += limit) ({ cursor } = await engine.list({ limit, ...(cursor === undefined ? {} : { cursor }) }))
  if (cursor === undefined) throw new Error("the list ended before its middle")
  return cursor
}
