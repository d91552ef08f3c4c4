// A failover to a standby that lacks the newest turns, while a worker that wrote some of them is frozen. Another worker writes other turns at the same
// positions. When the first worker goes on, none of its turns may be appended to the journal of the other.

import { expectReplay } from "perdure/testing"
import { type Context, workflow } from "perdure"
import { expect, it } from "vitest"
import { SeededRandom } from "../../src/core/execution/seeded-random.ts"
import { decodeRow } from "../../src/core/journal/turn-codec.ts"
import { macrotask, SimulatedHost } from "../../src/hosts/simulated/simulated-host.ts"
import { SimulatedProcess } from "../../src/testing/simulation/simulated-process.ts"
import { ForgetfulStore } from "./forgetful-store.ts"
import { leaseMs, options } from "./settings.ts"

const noFaults = { next: () => undefined, isHintLost: () => false }
const stepCount = 12
const runs = process.env["LONG"] ? 400 : 60

async function simulate(seed: string) {
  const host = new SimulatedHost({ seed })
  const random = new SeededRandom(seed)
  const beganAt = host.now()
  const store = new ForgetfulStore()
  let activity = 0
  let calls = 0
  const workers = await Promise.all(
    [0, 1].map(async (slot) => {
      const worker = new SimulatedProcess({ host, store, faults: noFaults, options, onActivity: () => activity++, onDeath: () => undefined })
      // Each call of a step gives another value: a run that mixes two histories ends with values that its journal does not have.
      const steps = workflow("steps", async (ctx: Context) => {
        const values: string[] = []
        for (let at = 0; at < stepCount; at++) {
          values.push(
            await ctx.do(`step ${at}`, async () => {
              await worker.work(500)
              return `worker ${slot}, call ${++calls}`
            }),
          )
        }
        return values
      })
      await worker.open([steps])
      return { worker, steps }
    }),
  )
  const settle = async () => {
    let last = -1
    for (let quiet = 0; quiet < 3;) {
      await new Promise<void>((resolve) => macrotask(resolve))
      quiet = activity !== last || workers.some(({ worker }) => worker.beats > 0) ? 0 : quiet + 1
      last = activity
    }
  }
  const advance = (ms: number) => host.advanceTo(host.now() + ms, settle)

  const [first, second] = workers
  if (!first?.worker.engine || !second?.worker.engine) throw new Error("the workers are not open")
  const ids = ["a", "b", "c", "d"]
  for (const id of ids) await first.worker.engine.start(first.steps, { id })
  await advance(1_000 + Math.floor(random.next() * 2_000))
  first.worker.freeze()
  const commits = store.commitsFromEnd().filter((_, at) => at >= ids.length)
  await store.failOver(commits[Math.floor(random.next() * commits.length)] ?? 0)
  // The second worker takes over, and reaches about the position of the first worker.
  await advance(leaseMs + Math.floor(random.next() * 3_000))
  first.worker.thaw()
  await advance(120_000)

  const audit = await store.open({ now: () => host.now(), log: host.log, role: "client" })
  const problems: string[] = []
  let mixed = 0
  for (const id of ids) {
    const instance = await audit.directory.get(id)
    const rows = await audit.journal.readJournal(id, 1)
    const entries = rows.flatMap((row) => decodeRow(row)).map(({ entry }) => entry)
    if (instance?.status !== "completed") problems.push(`${id} is ${instance?.status}`)
    if (entries.filter(({ type }) => type === "step.completed").length !== stepCount) problems.push(`${id} has a step that is recorded twice or never`)
    mixed += new Set(rows.map(({ turn }) => turn.split(".")[0])).size - 1
    try {
      if (instance) await expectReplay({ instance, rows }, second.steps)
    } catch (error) {
      problems.push(`${id}: ${String(error)}`)
    }
  }
  return { problems, takenOver: mixed, at: host.now() - beganAt }
}

it(`after a failover that lost turns, each journal is one history (${runs} seeds)`, async () => {
  let takenOver = 0
  for (let seed = 1; seed <= runs; seed++) {
    const report = await simulate(`forgotten ${seed}`)
    expect(report.problems, `seed ${seed}`).toEqual([])
    takenOver += report.takenOver
  }
  expect(takenOver).toBeGreaterThan(runs)
})
