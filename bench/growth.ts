// Declares that a workload measures the same figures at several sizes. Every size is measured in every round, so that compared values
// come from the same moments. The keys of a sample contain the size.

import type { TargetId } from "./target.ts"
import type { Figure, Goal, Workload } from "./workload.ts"

export interface Growth {
  readonly axis: Axis
  readonly curves: readonly Curve[]
  readonly charts: readonly ChartPlan[]
}

export interface Axis {
  /** The name of the things whose number grows. */
  readonly label: string
  readonly values: readonly number[]
  /** The size with which all other sizes are compared. */
  readonly reference: number
}

export interface Curve {
  readonly key: string
  readonly label: string
  readonly unit: string
  /** The goal for the largest size. A ratio is relative to the reference size. */
  readonly goal?: Goal
  /** The only targets on which the curve can be measured. */
  readonly on?: TargetId | readonly TargetId[]
}

export interface ChartPlan {
  /** The name of the file in docs/charts, without its ending. */
  readonly file: string
  readonly title: string
  /** The title of the vertical axis, with the unit. Ratios need no title. */
  readonly measure: string
  readonly curves: readonly Curve["key"][]
  /** Whether the chart shows the values, or their ratios to the reference size. Goals are lines in the chart. */
  readonly shows: "values" | "ratios"
  /** Curves that are drawn as lower bounds. */
  readonly floors?: readonly Curve["key"][]
}

export const keyAt = (key: string, size: number) => `${key}@${size}`

export const sizeText = (size: number) => size.toLocaleString("en-US")

/** Makes a workload that has a figure for each curve at each size. */
export function growing(workload: Omit<Workload, "figures" | "growth"> & { readonly growth: Growth }): Workload {
  const { axis, curves } = workload.growth
  const figures = curves.flatMap((curve) => axis.values.map((size) => figureAt(axis, curve, size)))
  return { ...workload, figures }
}

function figureAt({ label: of, values, reference }: Axis, { key, label, unit, goal, on }: Curve, size: number): Figure {
  return {
    key: keyAt(key, size),
    label: `${label}, ${sizeText(size)} ${of} ÷ ${sizeText(reference)}`,
    unit,
    floor: { key: keyAt(key, reference), unit },
    ...(goal !== undefined && size === values.at(-1) ? { goal } : {}),
    ...(on === undefined ? {} : { on }),
  }
}
