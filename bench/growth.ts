// How a workload says that it measures the same things at several sizes. Every size is measured in every round, so that what
// is compared comes from the same moments; the names of a sample's numbers carry the size.

import type { TargetId } from "./target.ts"
import type { Figure, Goal, Workload } from "./workload.ts"

export interface Growth {
  readonly axis: Axis
  readonly curves: readonly Curve[]
  readonly charts: readonly ChartPlan[]
}

export interface Axis {
  /** What there are so many of. */
  readonly label: string
  readonly values: readonly number[]
  /** The size that the others are compared with. */
  readonly reference: number
}

export interface Curve {
  readonly key: string
  readonly label: string
  readonly unit: string
  /** Of the largest size; a ratio is that to the reference. */
  readonly goal?: Goal
  /** It can be measured there alone. */
  readonly on?: TargetId | readonly TargetId[]
}

export interface ChartPlan {
  /** In docs/charts, without its ending. */
  readonly file: string
  readonly title: string
  /** Of the upright axis, with the unit; ratios name themselves. */
  readonly measure: string
  readonly curves: readonly Curve["key"][]
  /** Whether it shows the curves themselves, or how many times the reference they are; the goals are lines in it. */
  readonly shows: "values" | "ratios"
  /** Curves that are drawn as what bounds the others. */
  readonly floors?: readonly Curve["key"][]
}

export const keyAt = (key: string, size: number) => `${key}@${size}`

export const sizeText = (size: number) => size.toLocaleString("en-US")

/** A workload with a figure for each curve at each size. */
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
