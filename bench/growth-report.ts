// Shows growth as a table with a column for each size, and as charts.

import { type Axis, type ChartPlan, type Curve, type Growth, keyAt, sizeText } from "./growth.ts"
import type { Bound, LineChart, Point, Series } from "./line-chart.ts"
import { isOn, type Measured } from "./measurement.ts"
import type { Outcome } from "./outcome.ts"
import { failureText, goalText, short, spreadText, type Table, verdictText, withUnit } from "./report.ts"

/** The table of one workload, on all its targets. */
export function growthTable(growth: Growth, outcomes: readonly Outcome[]): Table {
  const { label, values, reference } = growth.axis
  const head = [`by ${label}`, ...values.map(sizeText), `${sizeText(values.at(-1) ?? 0)} ÷ ${sizeText(reference)}`, "goal", ""]
  return { head, rows: outcomes.flatMap((outcome) => rowsOfTarget(growth, outcome, outcomes.length > 1)) }
}

function rowsOfTarget({ axis, curves }: Growth, outcome: Outcome, isNamed: boolean): readonly (readonly string[])[] {
  if (outcome.figures === undefined) return [[`${outcome.target.title}: ${failureText(outcome)}`, ...axis.values.map(() => ""), "", "", "FAILED"]]
  return curvesOn(outcome, curves).map((curve) => {
    const line = axis.values.map((size) => measuredAt(outcome, curve.key, size))
    const last = line.at(-1)
    return [
      nameOf(curve, outcome, isNamed),
      ...line.map(({ figure, value }) => withUnit(spreadText(value), figure.unit)),
      last?.ratio === undefined ? "" : spreadText(last.ratio),
      goalText(last?.figure.goal, curve.unit),
      verdictText(last?.met),
    ]
  })
}

const curvesOn = ({ target }: Outcome, curves: readonly Curve[]) => curves.filter(({ on }) => isOn(target, on))

const nameOf = ({ label }: Curve, { target }: Outcome, isNamed: boolean) => (isNamed ? `${label} (${target.title})` : label)

function measuredAt({ workload, figures }: Outcome, key: string, size: number): Measured {
  const found = figures?.find(({ figure }) => figure.key === keyAt(key, size))
  if (found === undefined) throw new Error(`${workload.id} has no ${keyAt(key, size)}`)
  return found
}

/** The chart of the targets that could be measured. */
export function growthChart({ axis, curves }: Growth, plan: ChartPlan, all: readonly Outcome[]): LineChart {
  const outcomes = all.filter(({ figures }) => figures !== undefined)
  const pick = (keys: readonly string[]) => curves.filter(({ key }) => keys.includes(key))
  const isNamed = outcomes.length > 1
  const shown = pick(plan.curves)
  const series = outcomes.flatMap((outcome) =>
    curvesOn(outcome, shown).map((curve): Series => ({ label: nameOf(curve, outcome, isNamed), points: pointsOf(axis, plan, outcome, curve) })),
  )
  const floors = outcomes.flatMap((outcome) => curvesOn(outcome, pick(plan.floors ?? [])).map((curve) => floorOf(axis, outcome, curve)))
  const goals = outcomes.slice(0, 1).flatMap((outcome) => shown.flatMap((curve) => goalsOf(axis, plan, outcome, curve)))
  const bounds = [...goals, ...floors].filter((bound, at, list) => list.findIndex(({ label }) => label === bound.label) === at)
  const upright = plan.shows === "ratios" ? `times that with ${sizeText(axis.reference)} ${axis.label}` : plan.measure
  return { title: plan.title, x: { label: axis.label }, y: { label: upright }, series, bounds }
}

function pointsOf(axis: Axis, plan: ChartPlan, outcome: Outcome, { key }: Curve): readonly Point[] {
  return axis.values.map((x) => {
    const { value, ratio } = measuredAt(outcome, key, x)
    const { median: y, min, max } = plan.shows === "ratios" ? (ratio ?? value) : value
    return { x, y, min, max }
  })
}

function floorOf({ reference }: Axis, outcome: Outcome, { key, label, unit }: Curve): Bound {
  const { median: y } = measuredAt(outcome, key, reference).value
  return { kind: "floor", label: `floor: ${label}, ${short(y)} ${unit}`, y }
}

function goalsOf(axis: Axis, plan: ChartPlan, outcome: Outcome, { key, unit, goal }: Curve): readonly Bound[] {
  if (goal === undefined) return []
  const most = sizeText(axis.values.at(-1) ?? 0)
  if (goal.of === "figure") return plan.shows === "values" ? [{ kind: "goal", label: `goal with ${most}: ${goalText(goal, unit)}`, y: goal.limit }] : []
  if (plan.shows === "ratios") return [{ kind: "goal", label: `goal with ${most}: ${goalText(goal, "")}`, y: goal.limit }]
  const { median } = measuredAt(outcome, key, axis.reference).value
  return [{ kind: "goal", label: `goal with ${most}: ${goalText(goal, "")} × that with ${sizeText(axis.reference)}`, y: goal.limit * median }]
}
