import { describe, expect, it } from "vitest"
import { inkColour, type LineChart, lineChart, type Series, seriesColours, ticksUpTo } from "./line-chart.ts"

const seriesOf = (label: string, values: Readonly<Record<number, number>>): Series => ({
  label,
  points: Object.entries(values).map(([x, y]) => ({ x: Number(x), y, min: y * 0.9, max: y * 1.2 })),
})

const chart: LineChart = {
  title: "Cost of a step",
  x: { label: "steps" },
  y: { label: "ms" },
  series: [seriesOf("SQLite", { 0: 0.2, 100_000: 0.25, 1_000_000: 0.3 }), seriesOf("memory", { 0: 0.01, 100_000: 0.01, 1_000_000: 0.012 })],
  bounds: [{ kind: "goal", label: "goal", y: 0.4 }],
}

interface Tag {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
}

/** The tags of a document in their order; throws where it is not well-formed. */
function tagsOf(xml: string): readonly Tag[] {
  const tags: Tag[] = []
  const open: string[] = []
  const token = /<(\/?)([a-z]+)((?: [\w:-]+="[^"<]*")*)(\/?)>|([^<]+)/gy
  while (token.lastIndex < xml.length) {
    const at = token.lastIndex
    const match = token.exec(xml)
    if (match === null) throw new Error(`no XML from ${at} on: ${xml.slice(at, at + 40)}`)
    const [, closing, name = "", attributes = "", empty, text] = match
    if (/&(?!(amp|lt|gt|quot|#39);)/.test(text ?? attributes)) throw new Error(`an & of its own in ${match[0]}`)
    if (text !== undefined) continue
    if (closing === "/" && open.pop() !== name) throw new Error(`${match[0]} closes what is not open`)
    if (closing !== "/")
      tags.push({ name, attributes: Object.fromEntries([...attributes.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value])) })
    if (closing !== "/" && empty !== "/") open.push(name)
  }
  expect(open).toEqual([])
  return tags
}

const numbersOf = (tags: readonly Tag[], name: string, ...keys: readonly string[]) =>
  tags.filter((tag) => tag.name === name).flatMap(({ attributes }) => keys.map((key) => Number(attributes[key])))

function contrast(one: string, other: string): number {
  const luminance = (colour: string) => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

describe("a chart", () => {
  it("is one well-formed SVG document", () => {
    const tags = tagsOf(lineChart(chart))
    expect(tags[0]).toMatchObject({ name: "svg", attributes: { xmlns: "http://www.w3.org/2000/svg" } })
    expect(tags.filter(({ name }) => name === "svg")).toHaveLength(1)
    expect(tags.filter(({ name }) => name === "path")).toHaveLength(2)
  })

  it("escapes what its texts are made of", () => {
    const svg = lineChart({ ...chart, title: `a < b & "c"`, series: [seriesOf("<script>'x'</script>", { 1: 1, 2: 2 })] })
    tagsOf(svg)
    expect(svg).toContain("a &lt; b &amp; &quot;c&quot;</text>")
    expect(svg).toContain("&lt;script&gt;&#39;x&#39;&lt;/script&gt;")
    expect(svg).not.toContain("<script")
  })

  it("draws every point, spread and bound between its axes", () => {
    const tags = tagsOf(lineChart(chart))
    const grid = tags.filter(({ attributes }) => attributes["x1"] === "72" && attributes["x2"] === "700")
    const frame = { left: 72, right: 700, top: Math.min(...numbersOf(grid, "line", "y1")), bottom: Math.max(...numbersOf(grid, "line", "y1")) }
    const [, , width = 0, height = 0] = tags[0]?.attributes["viewBox"]?.split(" ").map(Number) ?? []
    expect(frame).toSatisfy(({ right, top, bottom }: typeof frame) => top > 0 && bottom > top && right < width && bottom < height)
    const isKey = ({ attributes }: Tag) => attributes["cx"] === "30"
    const points = tags.filter((tag) => tag.name === "circle" && !isKey(tag))
    const spreads = tags.filter(({ attributes }) => attributes["stroke-opacity"] === "0.6")
    const bounds = grid.filter(({ attributes }) => attributes["stroke-dasharray"] !== undefined)
    expect([points.length, spreads.length, bounds.length]).toEqual([6, 6, 1])
    for (const x of [...numbersOf(points, "circle", "cx"), ...numbersOf(spreads, "line", "x1", "x2")])
      expect(x).toSatisfy((value: number) => value > frame.left && value < frame.right)
    for (const y of [...numbersOf(points, "circle", "cy"), ...numbersOf([...spreads, ...bounds], "line", "y1", "y2")])
      expect(y).toSatisfy((value: number) => value >= frame.top && value <= frame.bottom)
  })

  it("puts sizes that span decades at even distances, and zero before them with a break between", () => {
    const circlesOf = (values: Readonly<Record<number, number>>) =>
      numbersOf(tagsOf(lineChart({ ...chart, series: [seriesOf("one", values)], bounds: [] })), "circle", "cx").slice(1)
    const [a = 0, b = 0, c = 0] = circlesOf({ 100: 1, 1_000: 1, 10_000: 1 })
    expect(b - a).toBeCloseTo(c - b, 2)
    const [zero = 0, first = 0] = circlesOf({ 0: 1, 100: 1, 10_000: 1 })
    expect(zero).toBeLessThan(first)
  })

  it("puts sizes of one decade where they are", () => {
    const [, one = 0, two = 0, five = 0] = numbersOf(
      tagsOf(lineChart({ ...chart, series: [seriesOf("one", { 1: 1, 2: 1, 5: 1 })], bounds: [] })),
      "circle",
      "cx",
    )
    expect((five - two) / (two - one)).toBeCloseTo(3, 2)
  })

  it("is higher where the value is", () => {
    const [, low = 0, high = 0] = numbersOf(tagsOf(lineChart({ ...chart, series: [seriesOf("one", { 1: 1, 2: 9 })], bounds: [] })), "circle", "cy")
    expect(high).toBeLessThan(low)
  })

  it("names both axes, every size, every line and every bound", () => {
    const svg = lineChart(chart)
    for (const text of ["Cost of a step", "steps", "ms", "1,000,000", "SQLite", "memory", "goal"]) expect(svg).toContain(`>${text}</text>`)
  })

  it("has colours that stand out from a light and from a dark page", () => {
    for (const page of ["#ffffff", "#0d1117"]) {
      expect(contrast(inkColour, page)).toBeGreaterThan(4)
      for (const colour of seriesColours) expect(contrast(colour, page)).toBeGreaterThan(3)
    }
  })

  it("is refused where there is nothing to draw, or more than can be told apart", () => {
    expect(() => lineChart({ ...chart, series: [] })).toThrow("nothing to draw")
    expect(() => lineChart({ ...chart, series: Array.from({ length: 6 }, (_, i) => seriesOf(String(i), { 1: 1 })) })).toThrow(
      "more lines than there are colours",
    )
  })
})

describe("ticks", () => {
  it("are round, begin at zero and end at or above the highest value", () => {
    expect(ticksUpTo(0.3)).toEqual([0, 0.1, 0.2, 0.3])
    expect(ticksUpTo(187)).toEqual([0, 50, 100, 150, 200])
    expect(ticksUpTo(9)).toEqual([0, 2.5, 5, 7.5, 10])
  })
})
