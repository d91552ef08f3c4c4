import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as delay } from "node:timers/promises"
import { afterEach, beforeEach, expect, it } from "vitest"
import { CrashBed } from "./crash-bed.ts"
import { wholeHistory } from "./findings.ts"
import { effectTables, mercy, ownDeaths } from "./transaction-workflows.ts"
import { isWorker, isWorking } from "./worker-process.ts"

const long = process.env["LONG"] === "1"
const kills = long ? 200 : 24
const instances = long ? 150 : 20
const rounds = long ? 20 : 10

let bed: CrashBed

beforeEach(async () => {
  bed = await CrashBed.open()
})

afterEach(() => bed.close())

interface Effect {
  readonly instance: string
  readonly step: string
  readonly key: string
  readonly nonce: string
}

function readTables(): { readonly effects: readonly Effect[]; readonly sum: number; readonly expected: number } {
  const database = new DatabaseSync(bed.path, { readOnly: true })
  try {
    const effects = database.prepare("SELECT instance, step, key, nonce FROM effect").all() as unknown as Effect[]
    const { sum, expected } = database.prepare("SELECT sum, (SELECT sum(amount) FROM effect) AS expected FROM total").get() as { sum: number; expected: number }
    return { effects, sum, expected }
  } finally {
    database.close()
  }
}

function diedByItself(pid: number): boolean {
  const file = join(bed.folder, ownDeaths)
  return existsSync(file) && readFileSync(file, "utf8").split("\n").includes(String(pid))
}

it("transactions are whole after any number of kills: the user's tables and the journals agree exactly", async () => {
  const { engine } = bed.load
  const database = new DatabaseSync(bed.path)
  database.exec(effectTables)
  database.close()
  const ids = Array.from({ length: instances }, (_, index) => `i${index}`)
  for (const id of ids) await engine.start("ledgered", { id, version: "1", allowUnknown: true, input: { rounds } })

  const deaths = { own: 0, ours: 0 }
  const isMissing = () => Math.min(deaths.own, deaths.ours) === 0
  for (let kill = 0; kill < kills || (isMissing() && kill < 4 * kills); kill++) {
    const victim = bed.spawn({ maxRecoveries: 10_000 })
    // A process that dies in its first transaction may not have reported that it works.
    expect({ works: (await victim.reported(isWorking, 10_000)) || !victim.alive, output: victim.output }).toEqual({ works: true, output: "" })
    // On a busy machine it takes longer until a process kills itself.
    const patienceMs = kill < kills ? (kill % 2 === 0 ? 30 : 300) : deaths.own === 0 ? 10_000 : 0
    await Promise.race([victim.exited, delay(Math.random() * patienceMs)])
    expect(await victim.kill()).toEqual({ code: null, signal: "SIGKILL" })
    deaths[diedByItself(victim.pid) ? "own" : "ours"]++
    const { effects, sum, expected } = readTables()
    expect(sum).toBe(expected ?? 0)
    expect(new Set(effects.map(({ key }) => key)).size).toBe(effects.length)
    if ((await engine.count({ status: "completed" }, "status"))["completed"] === instances) break
  }

  writeFileSync(join(bed.folder, mercy), "")
  const last = bed.spawn({ maxRecoveries: 10_000 })
  expect(await last.reported(isWorker, 10_000)).toBe(true)
  for (const id of ids) expect(await engine.get(id).result({ timeout: "60s" })).toBe(rounds)

  const recorded: string[] = []
  for (const id of ids) {
    const history = await wholeHistory(engine, id)
    const kinds = new Map(history.filter(({ type }) => type === "step.started").map(({ data }) => [data["id"] as string, data["kind"]]))
    const completed = history.filter(({ type, data }) => type === "step.completed" && kinds.get(data["id"] as string) === "transaction")
    recorded.push(...completed.map(({ data }) => `${id} ${data["id"] as string} ${data["value"] as string}`))
  }
  const { effects, sum, expected } = readTables()
  expect(effects.map(({ instance, step, nonce }) => `${instance} ${step} ${nonce}`).sort()).toEqual(recorded.sort())
  expect(effects).toHaveLength(instances * rounds * 3)
  expect(sum).toBe(expected)
  console.log(`transactions: ${deaths.ours} kills at random, ${deaths.own} between writes and commit, ${effects.length} effects`)
  expect(deaths.own).toBeGreaterThan(0)
  expect(deaths.ours).toBeGreaterThan(0)
  expect(last.output).toBe("")
  expect(await last.kill("SIGTERM")).toEqual({ code: 0, signal: null })
  expect(bed.integrity()).toEqual(["ok"])
})
