import { oneLine, pad, textWidth, truncate } from "./plain-text.ts"
import type { Paint, Style } from "./style.ts"

export interface Column<Row> {
  readonly title: string
  readonly text: (row: Row) => string
  readonly paint?: (row: Row) => Paint
  readonly align?: "left" | "right"
  /** The column may be cut to this width on a narrow terminal. Default: it is never cut. */
  readonly widthMin?: number
  /** The column is left out if it is empty in all rows. */
  readonly optional?: true
  /** The column is left out if the terminal is too narrow. The last such column goes first. */
  readonly spare?: true
}

const gap = 2

/** Draws rows under titles, no wider than the terminal. It leaves out columns with `spare`, and cuts columns with `widthMin`, the widest first. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], { width, style }: { width: number; style: Style }): string {
  const telling = columns.filter((column) => column.optional !== true || rows.some((row) => column.text(row) !== ""))
  const shown = fitting(rows, telling, width)
  const cells = rows.map((row) => shown.map((column) => oneLine(column.text(row))))
  const widths = shown.map((column, index) => Math.max(textWidth(column.title), ...cells.map((row) => textWidth(row[index] ?? ""))))
  shrink(widths, shown, width - gap * (shown.length - 1))
  const line = (texts: readonly string[], paint: (index: number) => Paint) =>
    shown
      .map((column, index) => {
        const columns = widths[index] ?? 0
        const text = truncate(texts[index] ?? "", columns)
        const isLast = index === shown.length - 1 && column.align !== "right"
        return paint(index)(isLast ? text : pad(text, columns, column.align))
      })
      .join(" ".repeat(gap))
      .trimEnd()
  const head = line(
    shown.map(({ title }) => title),
    () => style.bold,
  )
  const body = rows.map((row, at) => line(cells[at] ?? [], (index) => shown[index]?.paint?.(row) ?? ((text) => text)))
  return `${[head, ...body].join("\n")}\n`
}

/** Leaves out columns with `spare` until the rest fits. */
function fitting<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width: number): readonly Column<Row>[] {
  const leastOf = ({ title, text, widthMin = Infinity }: Column<Row>) =>
    Math.min(widthMin, Math.max(textWidth(title), ...rows.map((row) => textWidth(oneLine(text(row))))))
  const least = columns.reduce((sum, column) => sum + leastOf(column), gap * (columns.length - 1))
  const spare = columns.findLast((column) => column.spare)
  if (least <= width || spare === undefined) return columns
  return fitting(
    rows,
    columns.filter((column) => column !== spare),
    width,
  )
}

/** Narrows the widest column that may still be cut, one terminal column at a time. */
function shrink(widths: number[], columns: readonly Column<never>[], available: number): void {
  for (let over = widths.reduce((sum, width) => sum + width, 0) - available; over > 0; over--) {
    let widest: number | undefined
    columns.forEach(({ widthMin }, index) => {
      const width = widths[index] ?? 0
      if (widthMin !== undefined && width > widthMin && (widest === undefined || width > (widths[widest] ?? 0))) widest = index
    })
    if (widest === undefined) return
    widths[widest] = (widths[widest] ?? 0) - 1
  }
}
