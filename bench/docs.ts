// docs/performance.md and its charts are written from what the last runs measured (bench/results) and from the words in
// bench/performance.template.md. A section that was never measured says so.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { type Outcome, outcomeOf } from "./outcome.ts"
import { columns, machineLines, rowsOf } from "./report.ts"
import { loadResults } from "./results.ts"
import type { SectionRun } from "./section.ts"
import { sections } from "./section-list.ts"
import type { Workload } from "./workload.ts"

const unmeasured = "Not measured yet."

export function writeDocs(): void {
  const template = readFileSync(new URL("./performance.template.md", import.meta.url), "utf8")
  const folder = new URL("../docs/", import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL("performance.md", folder), fill(template, { ...workloadValues(), ...peerValues() }))
}

type Values = Readonly<Record<string, string>>

function workloadValues(): Values {
  const run = loadResults("workloads")
  return {
    workloads: titles(sections.workloads.workloads),
    rounds: String(run?.rounds ?? 3),
    figures: run === undefined ? unmeasured : figures(run.results.map(outcomeOf)),
    machine: run === undefined ? "" : machine(run),
  }
}

/** The comparison with other engines. */
function peerValues(): Values {
  return { peers: unmeasured }
}

const titles = (workloads: readonly Workload[]) => workloads.map(({ id, title }) => `- **${id}** ${title}`).join("\n")

const machine = (run: SectionRun) =>
  machineLines(run.machine)
    .map((line) => `- ${line}`)
    .join("\n")

const figures = (outcomes: readonly Outcome[]) => markdownTable(columns, outcomes.flatMap(rowsOf))

function fill(template: string, values: Values): string {
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`the template asks for {{${name}}}, which no run gives`)
    return value
  })
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")
}
