import { describe, expect, it } from "vitest"
import { growthChart } from "./growth-report.ts"
import { lineChart } from "./line-chart.ts"
import { outcomeOf } from "./outcome.ts"
import { tablesOf, textTable } from "./tables.ts"
import { growthBySteps } from "./workloads/growth-steps.ts"

const stepsAt = (few: number, some: number, many: number) => ({ "stepMs@100": few, "stepMs@1000": some, "stepMs@10000": many })
const rawCommits = { "rawCommitMs@100": 0.1, "rawCommitMs@1000": 0.1, "rawCommitMs@10000": 0.1 }
const onSqlite = (...rounds: readonly (readonly [number, number, number])[]) =>
  outcomeOf({ workload: "growth-steps", target: "sqlite", samples: rounds.map((round) => ({ ...stepsAt(...round), ...rawCommits })) })

describe("an outcome", () => {
  it("is a failure where a number is missing, nought or none, and the table says so", () => {
    for (const p50Ms of [0, Number.NaN, undefined]) {
      const outcome = outcomeOf({ workload: "W4", target: "sqlite", samples: [{ ...(p50Ms === undefined ? {} : { p50Ms }) }] })
      expect(outcome.figures).toBeUndefined()
      expect(tablesOf([outcome])[0]?.rows).toEqual([["W4", `FAILED: p50Ms was measured as ${String(p50Ms)}`, "", "", "", "", "FAILED"]])
    }
  })

  it("keeps the reason of a workload that failed", () => {
    const outcome = outcomeOf({ workload: "growth-steps", target: "memory", failure: "Error: the disk is full" })
    expect(textTable(tablesOf([outcome])[0]!)).toMatch(/memory: FAILED: Error: the disk is full .* FAILED$/m)
  })

  it("is refused where its workload is gone", () => {
    expect(() => outcomeOf({ workload: "W0", target: "sqlite", samples: [] })).toThrow("measure again")
  })
})

describe("growth", () => {
  it("has a column for each size, and is judged by the median of the rounds' ratios", () => {
    const [table] = tablesOf([onSqlite([0.3, 0.2, 0.2], [0.3, 0.2, 0.3], [0.3, 0.1, 0.11])])
    expect(table?.head).toEqual(["by steps", "100", "1,000", "10,000", "10,000 ÷ 1,000", "goal", ""])
    expect(table?.rows[0]?.slice(4)).toEqual(["1.10 (1.00–1.50)", "≤ 1.2", "met"])
    expect(tablesOf([onSqlite([0.3, 0.2, 0.3])])[0]?.rows[0]?.slice(4)).toEqual(["1.50 (1.50–1.50)", "≤ 1.2", "NOT MET"])
  })

  it("is not judged on a target that is there to compare with", () => {
    const outcome = outcomeOf({ workload: "growth-steps", target: "memory", samples: [stepsAt(0.01, 0.01, 0.02)] })
    expect(tablesOf([outcome])[0]?.rows[0]?.slice(4)).toEqual(["2.00 (2.00–2.00)", "", ""])
  })

  it("names the targets where there are several, in the table and in the chart", () => {
    const outcomes = [onSqlite([0.3, 0.2, 0.2]), outcomeOf({ workload: "growth-steps", target: "memory", samples: [stepsAt(0.02, 0.01, 0.01)] })]
    expect(tablesOf(outcomes)[0]?.rows.map(([name]) => name)).toEqual(["one step (SQLite)", "one raw commit (SQLite)", "one step (memory)"])
    const { growth } = growthBySteps
    const chart = growthChart(growth!, growth!.charts[0]!, outcomes)
    expect(chart.series.map(({ label }) => label)).toEqual(["one step (SQLite)", "one step (memory)"])
    expect(chart.bounds.map(({ kind, y }) => [kind, Number(y.toFixed(3))])).toEqual([
      ["goal", 0.24],
      ["floor", 0.1],
    ])
    expect(lineChart(chart)).toContain("≤ 1.2 × that with 1,000")
  })
})
