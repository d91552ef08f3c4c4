import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { CrashBed } from "./crash-bed.ts"
import { wholeHistory } from "./findings.ts"
import { readLedger } from "./ledger.ts"
import { remedy } from "./lethal-workflows.ts"
import { until } from "./until.ts"
import { isWorker, type WorkerProcess } from "./worker-process.ts"

const maxRecoveries = 3

let bed: CrashBed

beforeEach(async () => {
  bed = await CrashBed.open()
})

afterEach(() => bed.close())

/** Restarts the process whenever it dies, as a supervisor does, until a process lives long enough for the instance to stall. */
async function superviseUntilStalled(id: string): Promise<{ readonly deaths: number; readonly survivor: WorkerProcess }> {
  for (let deaths = 0; deaths < 20; deaths++) {
    const worker = bed.spawn({ maxRecoveries })
    const isStalled = async () => (await bed.load.engine.get(id).status()) === "stalled"
    expect(await until(async () => !worker.alive || (await isStalled()), 10_000)).toBe(true)
    if (worker.alive) return { deaths, survivor: worker }
    expect(await worker.exited).toEqual({ code: null, signal: "SIGKILL" })
  }
  throw new Error(`instance "${id}" killed 20 processes and is not stalled`)
}

describe("a step that kills its process", () => {
  it("leaves its instance stalled after maxRecoveries, the others untouched, and goes on after a resume once it is mended", async () => {
    const { engine } = bed.load
    await engine.start("patient", { id: "patient", version: "1", allowUnknown: true })
    await engine.start("lethal", { id: "lethal", version: "1", allowUnknown: true, input: { n: 7 } })
    const { deaths, survivor } = await superviseUntilStalled("lethal")
    expect(deaths).toBe(maxRecoveries + 1)
    expect((await engine.describe("lethal")).error).toMatchObject({ code: "STALLED", details: { code: "TOO_MANY_CRASHES" } })
    expect(await engine.get("patient").status()).toBe("waiting")

    writeFileSync(join(bed.folder, remedy), "")
    expect((await engine.get("lethal").resume()).accepted).toBe(true)
    expect(await engine.get("lethal").result({ timeout: "10s" })).toBe(8)
    await engine.get("patient").sendEvent("word", 5)
    expect(await engine.get("patient").result({ timeout: "10s" })).toBe(5)

    const begun = readLedger(bed.folder).filter((line) => line.what === "begin" && line.instance === "lethal")
    expect(begun.map((line) => (line.what === "begin" ? `${line.step} ${line.attempt}` : ""))).toEqual([
      "before 1",
      ...Array.from({ length: maxRecoveries + 2 }, (_, index) => `lethal ${index + 1}`),
    ])
    expect((await wholeHistory(engine, "patient")).filter(({ type }) => type === "recovered")).toEqual([])
    expect(await survivor.kill("SIGTERM")).toEqual({ code: 0, signal: null })
  })

  it("does not count crashes against an instance that gets on between them", async () => {
    const { engine } = bed.load
    // More steps than all these processes can run, also if a kill comes late.
    const ms = Array.from({ length: 40 }, () => 100)
    await engine.start("long", { id: "long", version: "1", allowUnknown: true, input: { ms } })
    for (let kill = 0; kill < maxRecoveries + 3; kill++) {
      const before = await completedSteps("long")
      const worker = bed.spawn({ maxRecoveries })
      expect(await worker.reported(isWorker, 10_000)).toBe(true)
      expect(await until(async () => (await completedSteps("long")) > before, 10_000)).toBe(true)
      await worker.kill()
    }
    bed.spawn({ maxRecoveries })
    expect(await engine.get("long").result({ timeout: "30s" })).toBe(ms.length)
    const recoveries = (await wholeHistory(engine, "long")).filter(({ type }) => type === "recovered")
    expect(recoveries.length).toBe(maxRecoveries + 3)
  })
})

async function completedSteps(id: string): Promise<number> {
  return (await wholeHistory(bed.load.engine, id)).filter(({ type }) => type === "step.completed").length
}
