import { expect } from "vitest"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import type { CrashBed } from "./crash-bed.ts"
import { type Aim, Killer } from "./killer.ts"
import { PhaseHistogram, PhaseWatch } from "./phases.ts"
import { isWorker, isWorking, type WorkerProcess } from "./worker-process.ts"

/** The aims, in turn. A kill comes at a random moment within this time after its victim has reached the aim. */
const aims: readonly { readonly aim: Aim; readonly delayMsMax: number }[] = [
  { aim: "commit", delayMsMax: 0.3 },
  { aim: "anytime", delayMsMax: 200 },
  { aim: "step", delayMsMax: 15 },
  { aim: "recovery", delayMsMax: 20 },
  { aim: "client", delayMsMax: 0.3 },
  { aim: "commit", delayMsMax: 0.1 },
  { aim: "replay", delayMsMax: 3 },
]

/** Starts and kills worker processes, one after another, and then starts a last process that is not killed. */
export async function killSeries(bed: CrashBed, kills: number, seed: number, meanwhile: (kill: number) => void): Promise<WorkerProcess> {
  const killer = new Killer()
  const random = new SeededRandom(`kills ${seed}`)
  const histogram = new PhaseHistogram()
  try {
    for (let kill = 1; kill <= kills; kill++) {
      const { aim, delayMsMax } = aims[kill % aims.length]!
      const delayMs = random.next() * delayMsMax
      const victim = bed.spawn({ maxRecoveries: 1_000 })
      if (aim !== "recovery" && aim !== "replay") await victim.reported(isWorking, 1_000)
      expect(victim.alive, `the worker ended by itself: ${victim.output}`).toBe(true)
      const killed = killer.kill({ pid: victim.pid, phaseFile: victim.phaseFile, aim, delayMs, patienceMs: 1_000, clientWriting: bed.load.writing })
      meanwhile(kill)
      const { clientWrite } = await killed
      expect(await victim.exited).toEqual({ code: null, signal: "SIGKILL" })
      expect(victim.output).toBe("")
      const watch = new PhaseWatch(victim.phaseFile)
      histogram.add(watch.read(), clientWrite)
      watch.close()
    }
  } finally {
    await killer.close()
  }
  console.log(histogram.toString())
  const last = bed.spawn({ maxRecoveries: 1_000 })
  expect(await last.reported(isWorker, 10_000)).toBe(true)
  return last
}
