// Formats figures as text.

import type { Machine } from "./machine.ts"
import type { Spread } from "./measurement.ts"
import type { Outcome } from "./outcome.ts"
import type { Goal, Sample } from "./workload.ts"

export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export const columns = ["", "figure", "measured (spread)", "floor", "ratio (spread)", "goal", ""] as const

export function rowsOf(outcome: Outcome): readonly (readonly string[])[] {
  const { workload, figures } = outcome
  if (figures === undefined) return [[workload.id, failureText(outcome), "", "", "", "", "FAILED"]]
  return figures.map(({ figure, value, floor, ratio, met }, index) => [
    index === 0 ? workload.id : "",
    figure.label,
    withUnit(spreadText(value), figure.unit),
    floor === undefined || figure.floor === undefined ? "" : withUnit(short(floor.median), figure.floor.unit),
    ratio === undefined ? "" : spreadText(ratio),
    goalText(figure.goal, figure.unit),
    verdictText(met),
  ])
}

/** One line for a sample, while the workload is under way. */
export function sampleText(sample: Sample): string {
  return Object.entries(sample)
    .map(([key, value]) => `${key} ${short(value)}`)
    .join(", ")
}

export function machineLines(machine: Machine): readonly string[] {
  return [
    `Perdure ${machine.perdure}, Node ${machine.node}, SQLite ${machine.sqlite}; ${machine.settings}`,
    `${machine.system}, ${machine.cores} cores (${machine.processor}), ${machine.memoryGb} GB; ${machine.filesystem}, write and fdatasync of 4 KB: ${short(machine.fdatasyncMs)} ms p50`,
    `load of the machine before the run: ${machine.load.toFixed(1)}${machine.load > 0.5 ? "; others use it, so expect a wide spread" : ""}`,
  ]
}

export function goalText(goal: Goal | undefined, unit: string): string {
  if (goal === undefined) return ""
  const limit = goal.of === "figure" ? withUnit(String(goal.limit), unit) : String(goal.limit)
  return `${goal.bound === "at least" ? "≥" : "≤"} ${limit}`
}

export const spreadText = ({ median, min, max }: Spread) => `${short(median)} (${short(min)}–${short(max)})`

export const withUnit = (text: string, unit: string) => (unit === "" ? text : `${text} ${unit}`)

/** A number with three significant digits. */
export function short(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString("en-US")
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value >= 1 ? value.toFixed(2) : value.toFixed(3)
}

export const verdictText = (met: boolean | undefined) => (met === undefined ? "" : met ? "met" : "NOT MET")

export const failureText = ({ failure = "no reason was given" }: Outcome) => `FAILED: ${firstLine(failure)}`

const firstLine = (text: string) => text.split("\n").find((line) => /^\w*Error\b/.test(line)) ?? text.split("\n")[0] ?? text
