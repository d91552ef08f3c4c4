import { describe, expect, it } from "vitest"
import { simulate, type SimulationReport, type SimulationSpec } from "./driver.ts"
import { crashPhases, noFaults, type CrashPhase } from "./faults.ts"
import { leaseMs } from "./settings.ts"
import { smallWorkflows, type SmallWorkflow } from "./small-workflows.ts"

/** Every workflow with a crash at each phase of every write, and the smallest workflows with every pair of crashes. */

const embedded: Partial<SimulationSpec> = { workers: 1, isEmbedded: true, downMs: 0 }
const cluster: Partial<SimulationSpec> = { workers: 2, isEmbedded: false, downMs: 2 * leaseMs }

function run({ program, actions = [], start }: SmallWorkflow, setting: Partial<SimulationSpec>, crashes: ReadonlyMap<number, CrashPhase>) {
  return simulate({
    scenario: { instances: [{ id: "i1", program, startAtMs: 0, ...start }], actions },
    faults: { crashes, rates: noFaults },
    seed: "exhaustive",
    workers: 1,
    downMs: 0,
    isEmbedded: true,
    ...setting,
  })
}

function expectEnding({ ending }: SmallWorkflow, report: SimulationReport, where: string): void {
  const { violations, endings, journals, traces } = report
  expect(violations, `${where}\n${journals}\n${traces}`).toEqual([])
  expect(endings.get("i1"), `${where}\n${journals}\n${traces}`).toMatchObject(ending)
}

const points = (writes: number) => Array.from({ length: writes }, (_, write) => crashPhases.map((phase) => ({ write, phase }))).flat()

describe.each([
  ["one process", embedded],
  ["two processes with leases", cluster],
])("a crash at every write, %s", (_, setting) => {
  it.each(smallWorkflows.map((workflow) => [workflow.name, workflow] as const))("%s", async (_name, workflow) => {
    const calm = await run(workflow, setting, new Map())
    expectEnding(workflow, calm, "no crash")
    expect(calm.writes).toBeGreaterThan(0)
    for (const { write, phase } of points(calm.writes)) {
      const report = await run(workflow, setting, new Map([[write, phase]]))
      expectEnding(workflow, report, `a crash ${phase} write ${write}`)
      expect(report.statistics.get("crashes")).toBe(1)
    }
  })
})

describe("two crashes at every pair of writes", () => {
  it.each(smallWorkflows.filter(({ isSmallest }) => isSmallest).map((workflow) => [workflow.name, workflow] as const))("%s", async (_name, workflow) => {
    const calm = await run(workflow, embedded, new Map())
    for (const first of points(calm.writes)) {
      // After a crash there are more writes than without one.
      for (const second of points(calm.writes + 2).filter(({ write }) => write > first.write)) {
        const crashes = new Map([
          [first.write, first.phase],
          [second.write, second.phase],
        ])
        expectEnding(workflow, await run(workflow, embedded, crashes), `crashes ${first.phase} write ${first.write} and ${second.phase} write ${second.write}`)
      }
    }
  })
})
