// Draws a small line chart as SVG. The page may be light or dark, and an image cannot know which: the background is left
// out, and the colours stand out from both.

import { element, numberText } from "./svg.ts"

export interface LineChart {
  readonly title: string
  readonly x: ChartAxis
  readonly y: ChartAxis
  readonly series: readonly Series[]
  /** Bounds, across the whole width. */
  readonly bounds: readonly Bound[]
}

export interface ChartAxis {
  /** With its unit. */
  readonly label: string
}

export interface Series {
  readonly label: string
  readonly points: readonly Point[]
}

export interface Point {
  readonly x: number
  readonly y: number
  readonly min: number
  readonly max: number
}

export interface Bound {
  readonly label: string
  readonly kind: "goal" | "floor"
  readonly y: number
}

export const inkColour = "#6e7b89"
/** In the order in which they are taken. */
export const seriesColours = ["#2f81f7", "#db6d28", "#2a9a5a", "#9a6cf0", "#e5534b"] as const

const width = 720
const plot = { left: 72, right: 700, height: 210 }
const lineHeight = 18
const legendTop = 44
/** Between the frame and the first and last sizes. */
const inset = 28
const dashes: Readonly<Record<Bound["kind"], string>> = { goal: "7 4", floor: "2 3" }

export function lineChart(chart: LineChart): string {
  const { title, series, bounds } = chart
  const points = series.flatMap((one) => one.points)
  if (points.length === 0) throw new Error(`there is nothing to draw in "${title}"`)
  if (series.length > seriesColours.length) throw new Error(`"${title}" has more lines than there are colours`)
  const top = legendTop + (series.length + bounds.length) * lineHeight
  const bottom = top + plot.height
  const ticks = ticksUpTo(Math.max(...points.map(({ max }) => max), ...bounds.map(({ y }) => y)))
  const x = horizontal([...new Set(points.map((point) => point.x))].toSorted((a, b) => a - b))
  const y = (value: number) => bottom - (value / (ticks.at(-1) ?? 1)) * plot.height
  return `${element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      role: "img",
      viewBox: `0 0 ${width} ${bottom + 52}`,
      width,
      height: bottom + 52,
      "font-family": "system-ui, sans-serif",
      "font-size": 13,
    },
    element("title", {}, title),
    label(title, { x: 16, y: 24, "font-size": 15, "font-weight": 600 }),
    ...series.map((one, at) => seriesKey(one, at, legendTop + at * lineHeight)),
    ...bounds.map((bound, at) => boundKey(bound, legendTop + (series.length + at) * lineHeight)),
    ...ticks.map((tick) => yTick(tick, y(tick))),
    ...x.sizes.map((size) => xTick(size, x.at(size), bottom)),
    ...(x.gap === undefined ? [] : [axisBreak(x.gap, bottom)]),
    label(chart.x.label, { x: (plot.left + plot.right) / 2, y: bottom + 42, "text-anchor": "middle" }),
    label(chart.y.label, { transform: `translate(18 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }),
    ...bounds.map((bound) => rule(plot.left, y(bound.y), plot.right, y(bound.y), { "stroke-dasharray": dashes[bound.kind], "stroke-width": 1.5 })),
    ...series.map((one, at) => drawn(one, colourOf(at), x.at, y)),
  )}\n`
}

interface Horizontal {
  readonly sizes: readonly number[]
  readonly at: (size: number) => number
  /** Where the axis is broken, as nothing is endlessly far from one on a logarithmic one. */
  readonly gap?: number
}

/** Logarithmic where the sizes span a decade or more; zero has a place of its own before the others. */
function horizontal(sizes: readonly number[]): Horizontal {
  const positive = sizes.filter((size) => size > 0)
  const [least = 1, most = 1] = [positive[0], positive.at(-1)]
  const isLogarithmic = most / least >= 10
  const from = plot.left + inset
  const to = plot.right - inset
  const hasGap = isLogarithmic && sizes[0] === 0
  const start = hasGap ? from + (to - from) / sizes.length : from
  const [first = 0] = sizes
  const share = (size: number) => (isLogarithmic ? Math.log(size / least) / Math.log(most / least) : most === first ? 0 : (size - first) / (most - first))
  const at = (size: number) => (hasGap && size === 0 ? from : start + share(size) * (to - start))
  return { sizes, at, ...(hasGap ? { gap: (from + start) / 2 } : {}) }
}

/** Round numbers from zero to the first that is not below. */
export function ticksUpTo(highest: number): readonly number[] {
  const rough = highest / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = ([1, 2, 2.5, 5].find((factor) => factor * power >= rough) ?? 10) * power
  return Array.from({ length: Math.ceil(highest / step - 1e-9) + 1 }, (_, at) => Number((at * step).toPrecision(12)))
}

const colourOf = (at: number) => seriesColours[at] ?? inkColour

const label = (text: string, attributes: Readonly<Record<string, string | number>>) => element("text", { fill: inkColour, ...attributes }, text)

const rule = (x1: number, y1: number, x2: number, y2: number, attributes: Readonly<Record<string, string | number>> = {}) =>
  element("line", { x1, y1, x2, y2, stroke: inkColour, ...attributes })

const seriesKey = (series: Series, at: number, y: number) =>
  element("g", {}, rule(16, y, 44, y, { stroke: colourOf(at), "stroke-width": 2 }), marker(30, y, colourOf(at)), label(series.label, { x: 52, y: y + 4 }))

const boundKey = (bound: Bound, y: number) =>
  element("g", {}, rule(16, y, 44, y, { "stroke-dasharray": dashes[bound.kind], "stroke-width": 1.5 }), label(bound.label, { x: 52, y: y + 4 }))

const yTick = (value: number, y: number) =>
  element(
    "g",
    {},
    rule(plot.left, y, plot.right, y, { "stroke-opacity": value === 0 ? 1 : 0.25 }),
    label(numberText(value), { x: plot.left - 8, y: y + 4, "text-anchor": "end" }),
  )

const xTick = (size: number, x: number, bottom: number) =>
  element("g", {}, rule(x, bottom, x, bottom + 5), label(numberText(size), { x, y: bottom + 20, "text-anchor": "middle" }))

const axisBreak = (x: number, bottom: number) =>
  element("g", {}, rule(x - 5, bottom + 5, x - 1, bottom - 5, { "stroke-width": 1.5 }), rule(x + 1, bottom + 5, x + 5, bottom - 5, { "stroke-width": 1.5 }))

const marker = (cx: number, cy: number, fill: string) => element("circle", { cx, cy, r: 3.5, fill })

/** The line through the medians, and at each of them the spread. */
function drawn({ points }: Series, colour: string, x: (size: number) => number, y: (value: number) => number): string {
  const path = points.map((point, at) => `${at === 0 ? "M" : "L"}${numberText(x(point.x), "")} ${numberText(y(point.y), "")}`).join(" ")
  return element(
    "g",
    {},
    element("path", { d: path, fill: "none", stroke: colour, "stroke-width": 2 }),
    ...points.map((point) => rule(x(point.x), y(point.min), x(point.x), y(point.max), { stroke: colour, "stroke-width": 1.5, "stroke-opacity": 0.6 })),
    ...points.map((point) => marker(x(point.x), y(point.y), colour)),
  )
}
