import { growthTable } from "./growth-report.ts"
import type { Outcome } from "./outcome.ts"
import { columns, rowsOf, type Table } from "./report.ts"

/** All figures of a run: one table for the workloads of each target, and one for each that grows. */
export function tablesOf(outcomes: readonly Outcome[]): readonly Table[] {
  const plain = outcomes.filter(({ workload }) => workload.growth === undefined)
  const titles = [...new Set(plain.map(({ target }) => target.title))]
  const growing = new Set(outcomes.map(({ workload }) => workload).filter(({ growth }) => growth !== undefined))
  return [
    ...titles.map((title) => ({
      head: titles.length === 1 ? columns : [title, ...columns.slice(1)],
      rows: plain.filter(({ target }) => target.title === title).flatMap(rowsOf),
    })),
    ...[...growing].flatMap(({ id, growth }) => (growth === undefined ? [] : [growthTable(growth, outcomesOf(outcomes, id))])),
  ]
}

export const outcomesOf = (outcomes: readonly Outcome[], id: string) => outcomes.filter(({ workload }) => workload.id === id)

export function textTable({ head, rows }: Table): string {
  const widths = head.map((column, at) => Math.max(column.length, ...rows.map((row) => row[at]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd()
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n")
}

export function markdownTable({ head, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")
}
