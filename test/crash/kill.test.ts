import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import { CrashBed } from "./crash-bed.ts"
import { findings } from "./findings.ts"
import { type Aim, Killer } from "./killer.ts"
import { PhaseHistogram, PhaseWatch } from "./phases.ts"
import { makePlans } from "./plan.ts"
import { isWorker, isWorking } from "./worker-process.ts"

const long = process.env["LONG"] === "1"
const kills = long ? 200 : 40
const instances = long ? 500 : 120
const headStart = 20
/** With more running instances than this, a process would be killed before any progress, so it may live longer. */
const liveMax = 60
/** A busy machine needs more kills until all required phases were hit. */
const killsMax = 3 * kills
const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1e9))

/** The aims, in turn. A kill comes at a random moment within this time after its victim has reached the aim. */
const aims: readonly { readonly aim: Aim; readonly delayMsMax: number }[] = [
  { aim: "commit", delayMsMax: 0.3 },
  { aim: "anytime", delayMsMax: 400 },
  { aim: "recovery", delayMsMax: 20 },
  { aim: "step", delayMsMax: 15 },
  { aim: "commit", delayMsMax: 0.1 },
  { aim: "client", delayMsMax: 0.3 },
  { aim: "replay", delayMsMax: 3 },
  { aim: "idle", delayMsMax: 2 },
  { aim: "anytime", delayMsMax: 150 },
]
const breather: (typeof aims)[number] = { aim: "anytime", delayMsMax: 2_000 }

/** The phases that kills have to hit, because the test proves nothing about other phases. */
const required = ["commit", "step", "recovery", "replay", "client write"] as const

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

describe("a worker that is killed again and again", () => {
  it("loses nothing that was acknowledged, repeats nothing that was recorded, and comes to the right results", async () => {
    console.log(`kill test: ${kills} kills, ${instances} instances, SEED=${seed}`)
    const { load } = bed
    const startedAt = performance.now()
    const random = new SeededRandom(`kills ${seed}`)
    const plans = makePlans(seed, instances)
    const histogram = new PhaseHistogram()

    // The first process ends in good order, and so writes the cache of compiled modules.
    const first = bed.spawn()
    expect(await first.reported(isWorker, 10_000)).toBe(true)
    expect(await first.kill("SIGTERM")).toEqual({ code: 0, signal: null })

    let begun = 0
    // If all instances waited for the end of the kills, the kills would hit only first steps.
    const isEnough = async () => (await completed()) > instances / 4 && required.every((phase) => histogram.hits(phase) > 0)
    for (let kill = 1; kill <= kills || (kill <= killsMax && !(await isEnough())); kill++) {
      // New instances start until the last kill, so that each process has work.
      const due = Math.min(instances, headStart + Math.ceil(((instances - headStart) * kill) / kills))
      const playUpTo = (count: number) => {
        for (; begun < count; begun++) load.play(plans[begun]!)
      }
      playUpTo(begun + Math.ceil((due - begun) / 2))
      await killOnce(kill, random, histogram, () => playUpTo(due))
      if (kill % (kills / 5) === 0) console.log(await progress(kill, startedAt))
    }

    expect(await completed()).toBeGreaterThan(instances / 4)

    const last = bed.spawn({ maxRecoveries: 1_000 })
    expect(await last.reported(isWorker, 10_000)).toBe(true)
    await load.played()
    const problems = await findings(bed, plans)
    console.log(`${histogram.toString()}\nkill test: ${seconds(startedAt)} s`)
    expect(problems).toEqual([])
    expect(last.output).toBe("")
    expect(await last.kill("SIGTERM")).toEqual({ code: 0, signal: null })
    expect(bed.integrity()).toEqual(["ok"])
    for (const phase of required) expect(histogram.hits(phase), `kills that hit a ${phase}`).toBeGreaterThan(0)
  })
})

/** Starts and kills one worker process. `meanwhile` is called while the killer waits for its aim. */
async function killOnce(kill: number, random: SeededRandom, histogram: PhaseHistogram, meanwhile: () => void): Promise<void> {
  const { aim, delayMsMax } = await aimOf(kill, histogram)
  const delayMs = random.next() * delayMsMax
  const victim = bed.spawn({ maxRecoveries: 1_000 })
  const { pid, phaseFile } = victim
  const isEarly = aim === "recovery" || aim === "replay"
  if (!isEarly) await victim.reported(isWorker, 10_000)
  if (!isEarly) await victim.reported(isWorking, 1_000)
  expect(victim.alive, `the worker ended by itself: ${victim.output}`).toBe(true)
  // An early aim is reached when the process has started, however long that takes.
  const killed = killer.kill({ pid, phaseFile, aim, delayMs, patienceMs: isEarly ? 4_000 : 1_000, clientWriting: bed.load.writing })
  meanwhile()
  const { clientWrite } = await killed
  expect(await victim.exited).toEqual({ code: null, signal: "SIGKILL" })
  expect(victim.output).toBe("")
  const watch = new PhaseWatch(phaseFile)
  histogram.add(watch.read(), clientWrite)
  watch.close()
}

/** Near the end, the aim is a phase that was not hit yet. */
async function aimOf(kill: number, histogram: PhaseHistogram): Promise<(typeof aims)[number]> {
  const done = await completed()
  if (bed.load.started.size - done > liveMax || (kill > kills && done <= instances / 4)) return breather
  const missed = kill < kills * 0.75 ? undefined : required.find((phase) => histogram.hits(phase) === 0)
  const wanted = aims.find(({ aim }) => aim === (missed === "client write" ? "client" : missed))
  return wanted ?? aims[kill % aims.length]!
}

async function completed(): Promise<number> {
  return (await bed.load.engine.count({}, "status"))["completed"] ?? 0
}

async function progress(done: number, startedAt: number): Promise<string> {
  return `  ${done} of ${kills} kills, ${bed.load.started.size} of ${instances} instances started, ${await completed()} completed, ${seconds(startedAt)} s`
}

const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(1)
