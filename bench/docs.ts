// Writes docs/performance.md and its charts from the last results (bench/results) and from the words in
// bench/performance.template.md. A section that was never measured says so.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import type { Growth } from "./growth.ts"
import { growthChart } from "./growth-report.ts"
import { lineChart } from "./line-chart.ts"
import { loadObjectPeers, objectPeersMarkdown } from "./objects/peers-report.ts"
import { type Outcome, outcomeOf } from "./outcome.ts"
import { laterPeersMarkdown, peersMarkdown } from "./peers/peers-report.ts"
import { loadPeersResults } from "./peers/peers-results.ts"
import { machineLines } from "./report.ts"
import { loadResults } from "./results.ts"
import type { Section, SectionRun } from "./section.ts"
import { sections } from "./section-list.ts"
import { summaryValues } from "./summary.ts"
import { markdownTable, outcomesOf, tablesOf } from "./tables.ts"

const unmeasured = "Not measured yet."
const docs = new URL("../docs/", import.meta.url)

export function writeDocs(): void {
  mkdirSync(new URL("charts/", docs), { recursive: true })
  for (const [path, text] of docsFromResults()) writeFileSync(new URL(path, docs), text)
}

/** The texts of the files, by their paths in docs. */
export function docsFromResults(): ReadonlyMap<string, string> {
  const template = readFileSync(new URL("./performance.template.md", import.meta.url), "utf8")
  const files = new Map<string, string>()
  const page = fill(template, {
    ...summaryValues(),
    ...workloadValues(),
    ...objectValues(),
    ...sectionValues("dialect"),
    ...sectionValues("activities"),
    ...sectionValues("http"),
    ...growthValues(files),
    ...peerValues(),
  })
  return files.set("performance.md", page)
}

type Values = Readonly<Record<string, string>>

function workloadValues(): Values {
  const run = loadResults("workloads")
  return {
    workloads: titles(sections.workloads),
    rounds: String(run?.rounds ?? 3),
    figures: run === undefined ? unmeasured : tablesOf(run.results.map(outcomeOf)).map(markdownTable).join("\n\n"),
    machine: run === undefined ? "" : machine(run),
    stepOnSqlite: stepInCommits(run, "sqlite"),
    stepOnPostgres: stepInCommits(run, "postgres"),
  }
}

/** The time of one step of a sequence, in commits of one row. */
function stepInCommits(run: SectionRun | undefined, target: string): string {
  const outcome = run?.results.map(outcomeOf).find(({ workload, target: { id } }) => workload.id === "W3" && id === target)
  const ratio = outcome?.figures?.find(({ figure }) => figure.goal?.of === "ratio")?.ratio
  return ratio === undefined ? unmeasured : ratio.median.toFixed(1)
}

function objectValues(): Values {
  const run = loadResults("objects")
  const peers = loadObjectPeers()
  return {
    objectWorkloads: titles(sections.objects),
    objects: run === undefined ? unmeasured : tablesOf(run.results.map(outcomeOf)).map(markdownTable).join("\n\n"),
    objectsMachine: run === undefined ? "" : machine(run),
    objectPeers: peers === undefined ? unmeasured : objectPeersMarkdown(peers),
  }
}

/** The values of a section that is a list of workloads and one table: `{{http}}`, `{{httpWorkloads}}` and `{{httpMachine}}`. */
function sectionValues(name: "dialect" | "activities" | "http"): Values {
  const run = loadResults(name)
  return {
    [`${name}Workloads`]: titles(sections[name]),
    [name]: run === undefined ? unmeasured : tablesOf(run.results.map(outcomeOf)).map(markdownTable).join("\n\n"),
    [`${name}Machine`]: run === undefined ? "" : machine(run),
  }
}

function growthValues(files: Map<string, string>): Values {
  const run = loadResults("growth")
  const outcomes = run?.results.map(outcomeOf) ?? []
  return {
    growthWorkloads: titles(sections.growth),
    growth:
      run === undefined ? unmeasured : sections.growth.workloads.map(({ id, growth }) => growthText(files, growth, outcomesOf(outcomes, id))).join("\n\n"),
    growthRounds: String(run?.rounds ?? 3),
    growthMachine: run === undefined ? "" : machine(run),
  }
}

/** The comparison with other engines. */
function peerValues(): Values {
  const { whole, later } = loadPeersResults()
  const texts = [whole && peersMarkdown(whole), later && laterPeersMarkdown(later)].filter((text) => text !== undefined)
  return { peers: texts.length === 0 ? unmeasured : texts.join("\n\n") }
}

/** The table of one workload, and its charts, which are files of their own. */
function growthText(files: Map<string, string>, growth: Growth | undefined, outcomes: readonly Outcome[]): string {
  if (growth === undefined || outcomes.length === 0) return unmeasured
  const measured = outcomes.filter(({ figures }) => figures !== undefined)
  // One chart for each target, because the lines of several targets could not be told apart.
  const images = growth.charts.flatMap((plan) =>
    measured.map((outcome) => {
      const { id, title: of } = outcome.target
      const isOne = measured.length === 1
      const path = `charts/${isOne ? plan.file : `${plan.file}-${id}`}.svg`
      const title = isOne ? plan.title : `${plan.title}, ${of}`
      files.set(path, lineChart({ ...growthChart(growth, plan, [outcome]), title }))
      return `![${title}](${path})`
    }),
  )
  return [...tablesOf(outcomes).map(markdownTable), ...images].join("\n\n")
}

const titles = (section: Section) => section.workloads.map(({ id, title }) => `- **${id}** ${title}`).join("\n")

const machine = (run: SectionRun) => [...(run.postgres === undefined ? [] : [run.postgres]), ...machineLines(run.machine)].map((line) => `- ${line}`).join("\n")

function fill(template: string, values: Values): string {
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`the template asks for {{${name}}}, which no run gives`)
    return value
  })
}
