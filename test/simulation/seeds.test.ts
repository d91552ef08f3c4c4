import { describe, expect, it } from "vitest"
import { simulate, type SimulationReport } from "./driver.ts"
import { simulationOf } from "./generator.ts"
import { printScenario } from "./program.ts"
import { Statistics } from "./statistics.ts"

const isLong = process.env["LONG"] === "1"
const one = process.env["SEED"]
const first = one === undefined ? 1 : Number(one)
const seedsMax = one === undefined ? (isLong ? 20_000 : 500) : 1
const minutesMax = 20
const failuresMax = 3

/** Events that must occur at least once, because the seeds prove nothing about other events. */
const expectedKinds = [
  ...["commit", "deliver"].flatMap((what) => ["before", "after", "acknowledged"].map((when) => `${what} crash ${when}`)),
  ...["commit", "deliver", "claim", "read"].flatMap((what) => ["error before", "error after", "delay before", "delay after"].map((how) => `${what} ${how}`)),
  ...["renew error before", "renew ignored", "renew delay before", "renew delay after", "hint lost", "freezes", "deploys"],
  ...["turns", "lost turns", "replays", "recoveries", "takeovers", "step calls"],
  ...["children", "forsaken children", "child.ended", "event.handled", "update.accepted", "update.completed", "update.failed", "answered updates"],
  ...[
    "answered queries",
    "patched",
    "annotated",
    "run.continued",
    "runs from a step",
    "ask.aborted",
    "terminate.requested",
    "steps undone",
    "incomplete steps undone",
    "rollbacks stopped",
    "steps timed out",
    "conditions",
  ],
  ...["slots taken", "limits reached"],
  ...["schedules", "firings", "firings skipped", "schedules.write crash before", "schedules.write crash after", "schedules.write error after"],
]

const rerun = (seed: number) => `SEED=${seed} npx vitest run --project simulation -t "seed"`

function explain(seed: number, { violations, journals, traces }: SimulationReport): string {
  const { scenario, faults, ...setting } = simulationOf(seed)
  const crashes = [...faults.crashes].map(([write, phase]) => `${phase} write ${write}`).join(", ")
  return [
    rerun(seed),
    ...violations,
    printScenario(scenario),
    `crashes ${crashes}; rates ${JSON.stringify(faults.rates)}; ${JSON.stringify(setting)}`,
    journals,
    traces,
  ].join("\n")
}

/** The failure of a seed, or undefined. */
async function failureOf(seed: number, statistics: Statistics): Promise<string | undefined> {
  try {
    const report = await simulate(simulationOf(seed))
    statistics.add(report.statistics)
    return report.violations.length === 0 ? undefined : explain(seed, report)
  } catch (error) {
    return `${rerun(seed)}\n${error instanceof Error ? error.stack : String(error)}\n${printScenario(simulationOf(seed).scenario)}`
  }
}

describe("seeds", () => {
  it("every seed keeps what is promised under crashes, lost answers, lost leases and suspended processes", async () => {
    const statistics = new Statistics()
    const startedAt = performance.now()
    const failures: string[] = []
    let seed = first
    for (; seed < first + seedsMax && failures.length < failuresMax; seed++) {
      if (performance.now() - startedAt > minutesMax * 60_000) break
      const failure = await failureOf(seed, statistics)
      if (failure !== undefined) failures.push(failure)
    }
    console.log(`${seed - first} seeds in ${((performance.now() - startedAt) / 1000).toFixed(1)} s: ${statistics.print()}`)
    expect(failures.join("\n\n")).toBe("")
    const missing = expectedKinds.filter((kind) => statistics.get(kind) === 0)
    expect(one === undefined ? missing : [], "what never happened over all seeds").toEqual([])
  })

  it("the same seed does the same again", async () => {
    for (let seed = first; seed < first + 5; seed++) {
      const [one, other] = [await simulate(simulationOf(seed)), await simulate(simulationOf(seed))]
      expect(`${other.journals}\n${other.traces}`).toBe(`${one.journals}\n${one.traces}`)
    }
  })
})
