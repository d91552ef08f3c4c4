import { describe, expect, it } from "vitest"
import { simulate, type SimulationReport } from "./driver.ts"
import { simulationOf } from "./generator.ts"
import { printScenario } from "./program.ts"
import { Statistics } from "./statistics.ts"

const isLong = process.env["LONG"] === "1"
const one = process.env["SEED"]
const seedsMax = one === undefined ? (isLong ? 20_000 : 500) : 1
const first = one === undefined ? 1 : Number(one)
const minutesMax = 20

function explain(seed: number, { violations, journals, traces }: SimulationReport): string {
  const { scenario, freezes, deploys, workers, faults } = simulationOf(seed)
  const crashes = [...faults.crashes].map(([write, phase]) => `${phase} write ${write}`).join(", ")
  return [
    `SEED=${seed} npx vitest run --project simulation -t "seed"`,
    ...violations,
    printScenario(scenario),
    `${workers} workers; crashes ${crashes}; rates ${JSON.stringify(faults.rates)}; freezes ${JSON.stringify(freezes)}; deploys ${JSON.stringify(deploys)}`,
    journals,
    traces,
  ].join("\n")
}

describe("seeds", () => {
  it(`every seed keeps all invariants under crashes, lost answers, lost leases and suspended workers`, async () => {
    const statistics = new Statistics()
    const startedAt = performance.now()
    const failures: string[] = []
    let seed = first
    for (; seed < first + seedsMax && failures.length < 3; seed++) {
      if (isLong && performance.now() - startedAt > minutesMax * 60_000) break
      let report: SimulationReport
      try {
        report = await simulate(simulationOf(seed))
      } catch (error) {
        failures.push(`SEED=${seed} npx vitest run --project simulation -t "seed"\n${String(error)}\n${error instanceof Error ? error.stack : ""}`)
        continue
      }
      statistics.add(report.statistics)
      if (report.violations.length > 0) failures.push(explain(seed, report))
    }
    console.log(`${seed - first} seeds in ${((performance.now() - startedAt) / 1000).toFixed(1)} s: ${statistics.print()}`)
    expect(failures.join("\n\n")).toBe("")
  })
})
