// docs/performance.md is written by a run of everything: the figures from the run, the words from bench/performance.template.md.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import type { Machine } from "./machine.ts"
import { columns, machineLines, type Outcome, rowsOf } from "./report.ts"

export interface Run {
  readonly machine: Machine
  readonly rounds: number
  readonly outcomes: readonly Outcome[]
}

export function writeDocs(run: Run): void {
  const template = readFileSync(new URL("./performance.template.md", import.meta.url), "utf8")
  const folder = new URL("../docs/", import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL("performance.md", folder), fill(template, run))
}

function fill(template: string, { machine, rounds, outcomes }: Run): string {
  const values: Readonly<Record<string, string>> = {
    rounds: String(rounds),
    machine: machineLines(machine)
      .map((line) => `- ${line}`)
      .join("\n"),
    workloads: outcomes.map(({ workload }) => `- **${workload.id}** ${workload.title}`).join("\n"),
    figures: markdownTable(outcomes.flatMap(rowsOf)),
  }
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`the template asks for {{${name}}}, which no run gives`)
    return value
  })
}

function markdownTable(rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
  return [line(columns), line(columns.map(() => "---")), ...rows.map(line)].join("\n")
}
