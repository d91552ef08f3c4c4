/** The quantile of values in any order. `share` 0.5 is the median, which lies between the two middle values of an even number of values. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error("there is no quantile of nothing")
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const below = sorted[Math.floor(place)] ?? Number.NaN
  const above = sorted[Math.ceil(place)] ?? Number.NaN
  return below + (above - below) * (place - Math.floor(place))
}

export const median = (values: readonly number[]) => quantile(values, 0.5)

export const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
