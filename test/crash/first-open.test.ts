import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import { Perdure, workflow } from "../../src/index.ts"
import { sqlite } from "../../src/sqlite.ts"
import { Killer } from "./killer.ts"
import { PhaseWatch, phases } from "./phases.ts"
import { isWorker, WorkerProcess } from "./worker-process.ts"

const long = process.env["LONG"] === "1"
const kills = long ? 60 : 12
/** The approximate time to open a new file. */
const openMsMax = 14
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9))

let root: string
let killer: Killer

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "perdure-open-"))
  killer = new Killer()
})

afterEach(async () => {
  await killer.close()
  rmSync(root, { recursive: true })
})

const hello = workflow("hello", async (ctx) => ctx.do("greet", () => "hello"))

/** Kills a process while it opens a new file for the first time. Resolves to whether the process was still opening the file. */
async function killWhileOpening(folder: string, delayMs: number): Promise<boolean> {
  const worker = new WorkerProcess({ folder, life: 1, cache: join(root, "compile-cache") })
  const { pid, phaseFile } = worker
  await killer.kill({ pid, phaseFile, aim: "open", delayMs, patienceMs: 5_000, clientWriting: new Int32Array(new SharedArrayBuffer(4)) })
  expect(await worker.exited).toEqual({ code: null, signal: "SIGKILL" })
  const watch = new PhaseWatch(phaseFile)
  const wasOpening = (watch.read() & phases.open) !== 0
  watch.close()
  return wasOpening
}

describe("a process that is killed while it opens a new file", () => {
  it("leaves a file that the next one opens and works on", async () => {
    console.log(`first open: ${kills} kills, SEED=${seed}`)
    const random = new SeededRandom(`open ${seed}`)
    const warm = new WorkerProcess({ folder: mkdtempSync(join(root, "warm-")), life: 1, cache: join(root, "compile-cache") })
    expect(await warm.reported(isWorker, 10_000)).toBe(true)
    expect(await warm.kill("SIGTERM")).toEqual({ code: 0, signal: null })

    let hits = 0
    for (let kill = 0; kill < kills || (hits === 0 && kill < 4 * kills); kill++) {
      const folder = mkdtempSync(join(root, "file-"))
      if (await killWhileOpening(folder, (random.next() * openMsMax) / (kill < kills ? 1 : 10))) hits++
      await using engine = await Perdure.open({ store: sqlite(join(folder, "app.db")), workflows: [hello] })
      expect(engine.role).toBe("worker")
      const handle = await engine.start(hello, { id: "i" })
      expect(await handle.result({ timeout: "10s" })).toBe("hello")
    }
    console.log(`  ${hits} of ${kills} were killed before the file was open`)
    expect(hits).toBeGreaterThan(0)
  })
})
