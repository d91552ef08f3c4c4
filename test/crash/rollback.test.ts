import { setTimeout as delay } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import { CrashBed } from "./crash-bed.ts"
import { wholeHistory } from "./findings.ts"
import { readLedger } from "./ledger.ts"
import { auditUndoing } from "./undoing-audit.ts"
import type { UndoingInput } from "./undoing-workflows.ts"
import { isWorker, isWorking } from "./worker-process.ts"

const long = process.env["LONG"] === "1"
const kills = long ? 120 : 15
const instances = long ? 300 : 45
/** More kills are made if no kill has hit a rollback. */
const killsMax = 4 * kills
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9))

const ends = ["fails", "cancelled", "terminated"] as const
const statusOf = { fails: "failed", cancelled: "cancelled", terminated: "terminated" } as const

let bed: CrashBed

beforeEach(async () => {
  bed = await CrashBed.open()
})

afterEach(() => bed.close())

/** The number of executions of rollbacks that a kill has hit. */
function cutOff(): number {
  const rollbacks = readLedger(bed.folder).filter((line) => "step" in line && line.step.endsWith("#rollback"))
  return rollbacks.filter(({ what }) => what === "begin").length - rollbacks.filter(({ what }) => what === "end" || what === "fail").length
}

describe("a worker that is killed again and again while instances are undone", () => {
  it("undoes every completed step, newest first, and none again once that is recorded", async () => {
    console.log(`rollback kill test: ${kills} kills, ${instances} instances, SEED=${seed}`)
    const { engine } = bed.load
    const random = new SeededRandom(`rollback ${seed}`)
    const numbers = (max: number) => Array.from({ length: 5 }, () => Math.floor(random.next() * max))
    const plans: { readonly id: string; readonly end: (typeof ends)[number] }[] = []
    const begin = async () => {
      const id = `u${plans.length}`
      const end = ends[plans.length % ends.length]!
      plans.push({ id, end })
      const input: UndoingInput = { ms: numbers(25), failures: numbers(3), end: end === "fails" ? "fails" : "waits" }
      await engine.start("undoing", { id, input, version: "1", allowUnknown: true })
    }
    /** Ends instances that wait for it. A control without a response is not repeated. */
    const steer = async ({ id, end }: (typeof plans)[number]) => {
      if (end === "cancelled") await engine.get(id).cancel("by the test")
      else if (end === "terminated") await engine.get(id).terminate({ reason: "by the test", rollback: true })
    }

    let steered = 0
    for (let kill = 1; kill <= kills || (kill <= killsMax && cutOff() === 0); kill++) {
      for (const due = Math.ceil((instances * kill) / kills); plans.length < due;) await begin()
      const victim = bed.spawn({ maxRecoveries: 1_000 })
      await victim.reported(isWorking, 5_000)
      expect(victim.alive, `the worker ended by itself: ${victim.output}`).toBe(true)
      for (const due = Math.ceil((instances * (kill - 1)) / kills); steered < due; steered++) await steer(plans[steered]!)
      await delay(10 + random.next() * 120)
      expect(await victim.kill()).toEqual({ code: null, signal: "SIGKILL" })
      expect(victim.output).toBe("")
    }

    const last = bed.spawn({ maxRecoveries: 1_000 })
    expect(await last.reported(isWorker, 10_000)).toBe(true)
    for (; steered < plans.length; steered++) await steer(plans[steered]!)
    await Promise.allSettled(plans.map(({ id }) => engine.get(id).result({ timeout: "60s" })))

    const ledger = readLedger(bed.folder)
    const problems: string[] = []
    for (const { id, end } of plans) {
      const { status, notRolledBack } = await engine.describe(id)
      if (status !== statusOf[end]) problems.push(`${id} is ${status}; ${JSON.stringify(await engine.why(id))}`)
      if (notRolledBack) problems.push(`${id}: not rolled back are ${notRolledBack.join(", ")}`)
      const lines = ledger.filter((line) => "instance" in line && line.instance === id)
      problems.push(...auditUndoing(await wholeHistory(engine, id), lines).map((problem) => `${id}: ${problem}`))
    }
    expect(problems).toEqual([])
    // The test proves nothing if no kill has hit a rollback.
    console.log(`rollback kill test: ${plans.length} instances, ${cutOff()} executions of rollbacks cut off`)
    expect(cutOff()).toBeGreaterThan(0)
    expect(await last.kill("SIGTERM")).toEqual({ code: 0, signal: null })
    expect(bed.integrity()).toEqual(["ok"])
  })
})
