import { describe, expect, it } from "vitest"
import { styleOf } from "./style.ts"
import { type Column, table } from "./table.ts"
import { textWidth } from "./plain-text.ts"

interface Row {
  readonly id: string
  readonly count: number
  readonly note?: string
}

const columns: readonly Column<Row>[] = [
  { title: "ID", text: ({ id }) => id, widthMin: 4 },
  { title: "COUNT", text: ({ count }) => String(count), align: "right" },
  { title: "NOTE", text: ({ note }) => note ?? "", widthMin: 5, optional: true },
]
const plain = styleOf(false)

describe("a table", () => {
  it("has columns as wide as what is in them", () => {
    const rows = [
      { id: "a", count: 1, note: "x" },
      { id: "order-17", count: 1200 },
    ]
    expect(table(rows, columns, { width: 80, style: plain })).toBe("ID        COUNT  NOTE\na             1  x\norder-17   1200\n")
  })

  it("leaves out a column that says nothing", () => {
    expect(table([{ id: "a", count: 1 }], columns, { width: 80, style: plain })).toBe("ID  COUNT\na       1\n")
  })

  it.each([20, 30, 40])("is cut down to %i columns where it may be", (width) => {
    const rows = [{ id: "a-very-long-id-of-an-instance", count: 123, note: "a note that nobody reads to the end" }]
    const lines = table(rows, columns, { width, style: plain }).trimEnd().split("\n")
    expect(Math.max(...lines.map(textWidth))).toBe(width)
    expect(lines[1]).toContain("  123  ")
    expect(lines[1]?.match(/…/g)).toHaveLength(2)
  })

  it("is wider than the terminal rather than cut what must not be cut", () => {
    const [, line] = table([{ id: "order-17", count: 123456 }], columns, { width: 5, style: plain }).split("\n")
    expect(line).toBe("ord…  123456")
  })

  it("leaves out what can be spared where the terminal is too narrow, the last first", () => {
    const spared = columns.map((column) => (column.title === "COUNT" ? { ...column, spare: true as const } : column))
    const rows = [{ id: "order-17", count: 123456, note: "hello" }]
    expect(table(rows, spared, { width: 19, style: plain })).toBe("ID    COUNT   NOTE\nord…  123456  hello\n".replace("COUNT ", " COUNT"))
    expect(table(rows, spared, { width: 18, style: plain })).toBe("ID        NOTE\norder-17  hello\n")
  })

  it("counts a wide character as two columns", () => {
    expect(table([{ id: "日本", count: 1 }], columns, { width: 80, style: plain })).toBe("ID    COUNT\n日本      1\n")
  })

  it("paints cells without moving them", () => {
    const painted = columns.map((column) => ({ ...column, paint: () => styleOf(true).green }))
    const rows = [{ id: "a", count: 1, note: "x" }]
    // oxlint-disable-next-line no-control-regex
    const bare = table(rows, painted, { width: 80, style: styleOf(true) }).replace(/\u001b\[\d+m/g, "")
    expect(bare).toBe(table(rows, columns, { width: 80, style: plain }))
  })

  it("keeps a row on one line, whatever is in it", () => {
    expect(table([{ id: "a\nb\u001b[2J", count: 1 }], columns, { width: 80, style: plain })).toBe("ID            COUNT\na b\\u001b[2J      1\n")
  })
})
