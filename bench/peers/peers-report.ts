// Formats a run beside other engines, for the terminal and for docs/performance.md.

import type { Spread } from "../measurement.ts"
import { machineLines, spreadText, withUnit } from "../report.ts"
import { markdownTable, textTable } from "../tables.ts"
import { compare, compareOnPostgres, type Comparison, type Standing } from "./comparison.ts"
import type { PeerFigure } from "./figures.ts"
import { goalLines } from "./goals.ts"
import type { EngineOutcome, PeersOutcome } from "./outcome.ts"
import { ours } from "./peer-list.ts"

export function peersTable(outcome: PeersOutcome): string {
  const rows = compare(outcome).flatMap(({ figure, standings }) =>
    standings.map((standing, index) => [
      index === 0 ? figure.workload : "",
      index === 0 ? figure.label : "",
      standing.engine.name,
      valueText(figure, standing),
      leadText(standing),
    ]),
  )
  return [
    textTable({ head: ["", "figure", "engine", "measured (spread)", "against Perdure"], rows }),
    "",
    ...goalLines(outcome).map((line) => `Perdure, Postgres: ${line}`),
    ...outcome.engines.flatMap(reasonsOf),
    ...outcome.engines.flatMap((engine) => [engineLine(engine), ...engine.remarks.map((remark) => `  ${remark}`)]),
    ...surroundings(outcome),
  ].join("\n")
}

export function peersMarkdown(outcome: PeersOutcome): string {
  const unmeasured = outcome.engines.flatMap(reasonsOf)
  return [
    `Measured on ${outcome.measuredOn} by \`npm run bench -- --peers\`: every engine does the same workloads through the same code, and they take turns, round by round. A round has a process of its own and an empty database; it comes after one that is not counted, except for memory. A figure is the median of ${outcome.rounds} rounds, with the lowest and the highest in brackets.`,
    `Perdure runs on its defaults, the others on the settings below, which were chosen for speed; nobody's durability is reduced. An engine on PostgreSQL or with a server of its own does more than one in the process with its database, and can do more: several machines can share the work. The memory of PostgreSQL is not counted. An engine that polls for work was measured while busy; it reacts more slowly when it has been idle for long.`,
    outcome.workloads.map(({ id, title }) => `- **${id}** ${title}`).join("\n"),
    ...comparedMarkdown(outcome),
    ...(unmeasured.length === 0 ? [] : [lines(unmeasured)]),
    "Versions and settings:",
    outcome.engines.map((engine) => [`- ${engineLine(engine)}`, ...engine.remarks.map((remark) => `  - ${remark}`)].join("\n")).join("\n"),
    lines(surroundings(outcome)),
  ].join("\n\n")
}

/** The text of a run with some of the engines, after a whole run. */
export function laterPeersMarkdown(outcome: PeersOutcome): string {
  const names = outcome.engines.filter(({ id }) => !ours.some((own) => own.id === id)).map(({ name }) => name)
  return [
    `Measured again on ${outcome.measuredOn}, with what has changed since, beside ${names.join(" and ")} alone, in ${outcome.rounds} rounds.`,
    ...comparedMarkdown(outcome),
    lines(surroundings(outcome)),
  ].join("\n\n")
}

function comparedMarkdown(outcome: PeersOutcome): readonly string[] {
  const comparisons = compare(outcome)
  const onPostgres = compareOnPostgres(outcome)
  const table = (compared: readonly Comparison[], cell: (comparison: Comparison, standing: Standing) => string) =>
    markdownTable({
      head: ["engine", ...compared.map(({ figure }) => `${figure.workload} ${figure.label}`)],
      rows: outcome.engines
        .filter((engine) => compared.some(({ standings }) => standings.some((standing) => standing.engine === engine)))
        .map((engine) => [
          engine.name,
          ...compared.map((comparison) => {
            const standing = comparison.standings.find((candidate) => candidate.engine === engine)
            return standing === undefined ? "" : cell(comparison, standing)
          }),
        ]),
    })
  const lead = (_: Comparison, standing: Standing) =>
    standing.value === undefined ? "not measured" : standing.lead === undefined ? "" : leadMark(standing.lead)
  const goals = goalLines(outcome)
  return [
    "How many times better Perdure is, by the ratios within the rounds; **bold** where the other engine is better:",
    table(comparisons, lead),
    ...(onPostgres.length === 0 ? [] : ["The same for Perdure on PostgreSQL and engines on the same server:", table(onPostgres, lead)]),
    ...(goals.length === 0 ? [] : [lines(goals)]),
    "The figures:",
    table(comparisons, ({ figure }, standing) => valueText(figure, standing)),
  ]
}

const lines = (texts: readonly string[]) => texts.map((text) => `- ${text}`).join("\n")

const surroundings = ({ postgres, machine, loadAfter }: PeersOutcome): readonly string[] => [
  ...(postgres === undefined ? [] : [postgres]),
  ...machineLines(machine),
  ...(loadAfter === undefined ? [] : [`load of the machine at the end of the run, the engines included: ${loadAfter.toFixed(1)}`]),
]

const valueText = ({ unit }: PeerFigure, { value }: Standing) => (value === undefined ? "not measured" : withUnit(spreadText(value), unit))

function leadText({ lead }: Standing): string {
  if (lead === undefined) return ""
  const { median, min, max } = lead
  return median >= 1 ? `${spreadText(lead)} × behind` : `${spreadText({ median: 1 / median, min: 1 / max, max: 1 / min })} × BETTER`
}

const leadMark = (lead: Spread) => (lead.median >= 1 ? spreadText(lead) : `**${spreadText(lead)}**`)

function engineLine({ name, versions, settings }: EngineOutcome): string {
  const list = (record: Readonly<Record<string, string | number | boolean>>, between: string) =>
    Object.entries(record)
      .map(([key, value]) => `${key}${between}${String(value)}`)
      .join(", ")
  return [name, list(versions, " "), list(settings, ": ")].filter((part) => part !== "").join("; ")
}

/** The reasons why workloads were not measured. A reason for several workloads is given once. */
function reasonsOf({ name, workloads }: EngineOutcome): readonly string[] {
  const missing = Object.entries(workloads).flatMap(([id, outcome]) => ("reason" in outcome ? [{ id, reason: outcome.reason }] : []))
  return [...new Set(missing.map(({ reason }) => reason))].map((reason) => {
    const ids = missing.filter((entry) => entry.reason === reason).map(({ id }) => id)
    return `${name}, ${ids.join(", ")}: not measured: ${reason}`
  })
}
