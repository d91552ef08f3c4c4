// Schedules with short intervals, in processes that are killed again and again. Afterwards every due time has exactly one instance, or is on record
// as skipped or missed.

import { setTimeout as delay } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import type { InstanceSummary, Overlap } from "../../src/index.ts"
import { CrashBed } from "./crash-bed.ts"
import { scheduled } from "./scheduled-workflow.ts"
import { until } from "./until.ts"
import { isStandingBy, isWorker } from "./worker-process.ts"

const long = process.env["LONG"] === "1"
const kills = long ? 150 : 8
const everyMs = 50
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9))

let bed: CrashBed

beforeEach(async () => {
  bed = await CrashBed.open()
})

afterEach(() => bed.close())

/** Longer than the time until the next process takes over, also on a busy machine. */
const catchUp = "10m"
const schedules: readonly { readonly id: Overlap; readonly ms: number }[] = [
  { id: "allow", ms: 0 },
  { id: "skip", ms: 120 },
  { id: "queue", ms: 70 },
  { id: "cancel-previous", ms: 60 },
]

async function instancesOf(schedule: string): Promise<readonly InstanceSummary[]> {
  const found: InstanceSummary[] = []
  for (let cursor: string | undefined; ;) {
    const page = await bed.load.engine.list({ idPrefix: `${schedule}:`, limit: 1_000, ...(cursor === undefined ? undefined : { cursor }) })
    found.push(...page.instances)
    cursor = page.cursor
    if (cursor === undefined) return found
  }
}

describe("schedules of processes that are killed", () => {
  it("fire every time once, or say why they did not", async () => {
    console.log(`schedules: ${kills} kills, SEED=${seed}`)
    const random = new SeededRandom(`schedules ${seed}`)
    const { engine } = bed.load
    for (const { id, ms } of schedules) await engine.schedules.create(id, { workflow: scheduled, input: { ms }, every: everyMs, overlap: id, catchUp })

    let worker = bed.spawn()
    for (let kill = 1; kill <= kills; kill++) {
      expect(await worker.reported(isWorker, 20_000)).toBe(true)
      // Sometimes a second process stands by, and takes over at once.
      const next = kill % 3 === 0 ? bed.spawn() : undefined
      expect(next === undefined || (await next.reported(isStandingBy, 20_000))).toBe(true)
      await delay(random.next() * 250)
      expect((await worker.kill()).signal).toBe("SIGKILL")
      worker = next ?? bed.spawn()
    }
    expect(await worker.reported(isWorker, 20_000)).toBe(true)
    // Schedules are ended, and not paused, because waiting firings of a paused schedule would not start.
    for (const { id } of schedules) await engine.schedules.get(id).update({ endAt: Math.ceil(Date.now() / everyMs) * everyMs + 1_000 })
    const isOver = ({ status }: InstanceSummary) => status === "completed" || status === "cancelled"

    for (const { id } of schedules) {
      const handle = engine.schedules.get(id)
      const isAllOver = async () => {
        const { status, waiting } = await handle.describe()
        return status === "ended" && waiting.length === 0 && (await instancesOf(id)).every(isOver)
      }
      expect(await until(isAllOver, 60_000), `${id} comes to its end`).toBe(true)

      const { createdAt, counts, endAt } = await handle.describe()
      const first = createdAt - (createdAt % everyMs) + everyMs
      const due = Array.from({ length: (endAt! - first) / everyMs + 1 }, (_, index) => first + index * everyMs)
      const fired = (await instancesOf(id)).map((instance) => Date.parse(instance.id.slice(id.length + 1))).sort((a, b) => a - b)
      console.log(`  ${id}: ${due.length} times, ${JSON.stringify(counts)}`)
      expect(new Set(fired).size).toBe(fired.length)
      expect(fired.filter((at) => !due.includes(at))).toEqual([])
      expect(counts.started).toBe(fired.length)
      expect(counts.started + counts.skipped + counts.missed).toBe(due.length)
      expect(counts.missed).toBe(0)
      expect(counts.skipped > 0).toBe(id !== "allow")
    }
    expect(bed.integrity()).toEqual(["ok"])
    // The last process may have stood by at first, and then it has logged this.
    expect(worker.output.replace(/^perdure: another process executes .*; this one is a client and stands by\n/, "")).toBe("")
    expect(await worker.kill("SIGTERM")).toEqual({ code: 0, signal: null })
  })
})
