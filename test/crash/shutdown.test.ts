import { setTimeout as delay } from "node:timers/promises"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { CrashBed } from "./crash-bed.ts"
import { wholeHistory } from "./findings.ts"
import { readLedger } from "./ledger.ts"
import { isWorking } from "./worker-process.ts"

let bed: CrashBed

beforeEach(async () => {
  bed = await CrashBed.open()
})

afterEach(() => bed.close())

/** The steps of an instance whose functions were called, in the order of the calls. */
const begun = (id: string) => readLedger(bed.folder).flatMap((line) => (line.what === "begin" && line.instance === id ? [line.step] : []))

describe("a worker that is asked to end", () => {
  it("lets running attempts finish and be recorded, and the next process goes on; that is no crash", async () => {
    const { engine } = bed.load
    const ids = ["a", "b", "c"]
    for (const id of ids) await engine.start("long", { id, version: "1", allowUnknown: true, input: { ms: [400] } })
    const worker = bed.spawn()
    expect(await worker.reported(isWorking, 10_000)).toBe(true)
    expect(await worker.kill("SIGTERM")).toEqual({ code: 0, signal: null })
    expect(worker.output).toBe("")

    const next = bed.spawn()
    for (const id of ids) {
      expect(await engine.get(id).result({ timeout: "10s" })).toBe(1)
      expect((await wholeHistory(engine, id)).map(({ type }) => type)).not.toContain("recovered")
      expect(begun(id)).toEqual(["part-0"])
    }
    expect(await next.kill("SIGTERM")).toEqual({ code: 0, signal: null })
  })

  it("begins nothing new while it drains: the steps that follow wait for the next process", async () => {
    const { engine } = bed.load
    // The steps have different lengths, so that some step runs at any moment.
    const works = [70, 110, 130, 170].map((stepMs) => ({ id: `every-${stepMs}`, ms: Array.from({ length: 20 }, () => stepMs) }))
    for (const { id, ms } of works) await engine.start("long", { id, version: "1", allowUnknown: true, input: { ms } })
    const worker = bed.spawn()
    expect(await worker.reported(isWorking, 10_000)).toBe(true)
    await delay(300)
    const askedAt = performance.now()
    expect(await worker.kill("SIGTERM")).toEqual({ code: 0, signal: null })
    expect(performance.now() - askedAt).toBeLessThan(5_000)
    // If the engine had continued, the instances with the shortest steps would have ended.
    expect(await engine.count({}, "status")).toEqual({ running: works.length })

    bed.spawn()
    for (const { id, ms } of works) {
      expect(await engine.get(id).result({ timeout: "20s" })).toBe(ms.length)
      expect((await wholeHistory(engine, id)).map(({ type }) => type)).not.toContain("recovered")
      expect(begun(id)).toEqual(ms.map((_, index) => `part-${index}`))
    }
  })
})
