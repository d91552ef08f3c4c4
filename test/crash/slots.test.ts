import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, expect, it } from "vitest"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import { CrashBed } from "./crash-bed.ts"
import { type Aim, Killer } from "./killer.ts"
import { limitedDefinition, readExceeded } from "./limited-workflows.ts"
import { until } from "./until.ts"
import { isWorker, isWorking } from "./worker-process.ts"

const long = process.env["LONG"] === "1"
const kills = long ? 100 : 12
const instances = long ? 400 : 60
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9))

const aims: readonly { readonly aim: Aim; readonly delayMsMax: number }[] = [
  { aim: "commit", delayMsMax: 0.3 },
  { aim: "anytime", delayMsMax: 300 },
  { aim: "claim", delayMsMax: 0.2 },
  { aim: "step", delayMsMax: 15 },
  { aim: "recovery", delayMsMax: 20 },
]

let bed: CrashBed
let killer: Killer

beforeEach(async () => {
  bed = await CrashBed.open()
  killer = new Killer()
})

afterEach(async () => {
  await bed.close()
  await killer.close()
})

/** The number of rows in the tables of flow control. */
function leftOver(path: string): Record<string, number> {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    const count = (sql: string) => Number(database.prepare(sql).get()?.["count"])
    return {
      slots: count("SELECT count(*) AS count FROM perdure_slot"),
      parked: count("SELECT count(*) AS count FROM perdure_instance WHERE queued_for IS NOT NULL"),
      held: count("SELECT count(*) AS count FROM perdure_instance WHERE held > 0"),
    }
  } finally {
    database.close()
  }
}

it("a worker that is killed again and again exceeds no limit, and leaks no slot", async () => {
  console.log(`slot test: ${kills} kills, ${instances} instances, SEED=${seed}`)
  const { engine } = bed.load
  const random = new SeededRandom(`slots ${seed}`)
  const some = (max: number) => Math.floor(random.next() * max)
  const completed = async () => (await engine.count({}, "status"))["completed"] ?? 0
  let begun = 0
  for (let kill = 0; kill < kills; kill++) {
    for (; begun < (instances * (kill + 1)) / kills; begun++) {
      const start = { id: `i${begun}`, input: { key: "abc".charAt(some(3)), ms: Array.from({ length: 1 + some(3) }, () => some(25)) } }
      // A client without the code and its limits starts some of the instances.
      if (begun % 3 === 0) await engine.start("limited", { ...start, version: "1", allowUnknown: true })
      else await engine.start(limitedDefinition, start)
    }
    const { aim, delayMsMax } = aims[kill % aims.length]!
    const victim = bed.spawn({ maxRecoveries: 1_000 })
    if (aim !== "recovery") await victim.reported(isWorking, 1_000)
    const { pid, phaseFile } = victim
    await killer.kill({ pid, phaseFile, aim, delayMs: random.next() * delayMsMax, patienceMs: 1_000, clientWriting: bed.load.writing })
    expect(await victim.exited).toEqual({ code: null, signal: "SIGKILL" })
    expect(victim.output).toBe("")
  }
  const last = bed.spawn({ maxRecoveries: 1_000 })
  expect(await last.reported(isWorker, 10_000)).toBe(true)
  await until(async () => (await completed()) === instances, 60_000)
  expect(await engine.count({}, "status")).toEqual({ completed: instances })
  expect(readExceeded(bed.folder)).toBe("")
  expect(leftOver(join(bed.folder, "app.db"))).toEqual({ slots: 0, parked: 0, held: 0 })
  expect(last.output).toBe("")
  expect(await last.kill("SIGTERM")).toEqual({ code: 0, signal: null })
  expect(bed.integrity()).toEqual(["ok"])
})
