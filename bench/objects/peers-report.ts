// Perdure beside other engines in Durable Objects: the last run, and its text for the docs.

import { existsSync, readFileSync, writeFileSync } from "node:fs"
import type { Machine } from "../machine.ts"
import { machineLines } from "../report.ts"
import { median } from "../statistics.ts"
import { markdownTable } from "../tables.ts"
import type { Sample } from "../workload.ts"
import { type ObjectFigure, objectWorkloads } from "./section.ts"

export interface ObjectPeersRun {
  readonly measuredOn: string
  readonly machine: Machine
  readonly rounds: number
  readonly engines: readonly ObjectPeer[]
}

export interface ObjectPeer {
  readonly id: string
  readonly name: string
  readonly version?: string
  readonly remarks: readonly string[]
  /** The rounds of each workload, or the reason why there are none. */
  readonly workloads: Readonly<Record<string, { readonly rounds: readonly Sample[] } | { readonly reason: string }>>
}

const file = new URL("../results/object-peers.json", import.meta.url)

export function saveObjectPeers(run: ObjectPeersRun): void {
  writeFileSync(file, `${JSON.stringify(run, undefined, 2)}\n`)
}

/** Undefined if there was no such run. */
export function loadObjectPeers(): ObjectPeersRun | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as ObjectPeersRun) : undefined
}

/** A row for each engine: its figures, and how many times better Perdure is, by the ratios within the rounds. */
export function objectPeersTable(run: ObjectPeersRun): { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] } {
  // Figures that differ only in their floor are one figure here. Figures without a floor concern Perdure alone.
  const isShared = ({ floorKey, ownKey }: ObjectFigure) => floorKey === undefined && ownKey === undefined
  const figures = objectWorkloads.flatMap(({ id, figures: of }) => of.filter(isShared).map((figure) => ({ id, figure })))
  const ours = run.engines.find(({ id }) => id === "perdure")
  return {
    head: ["engine", ...figures.map(({ id, figure }) => `${id} ${figure.label.split(";")[0]}`)],
    rows: run.engines.map((engine) => [engine.name, ...figures.map(({ id, figure }) => cell(engine, ours, id, figure))]),
  }
}

export function objectPeersMarkdown(run: ObjectPeersRun): string {
  const reasons = run.engines.flatMap(({ name, workloads }) =>
    Object.entries(workloads).flatMap(([id, outcome]) => ("reason" in outcome ? [`${name}, ${id}: not measured: ${outcome.reason}`] : [])),
  )
  const engines = run.engines.flatMap(({ name, version, remarks }) =>
    version === undefined && remarks.length === 0 ? [] : [`${[name, version].filter((part) => part !== undefined).join(" ")}: ${remarks.join("; ")}`],
  )
  return [
    `Measured on ${run.measuredOn} by \`npm run bench -- --objects --peers\`, in one Worker; engines take turns, round by round, after a round that is not counted. Medians of ${run.rounds} rounds; in brackets how many times better Perdure is, **bold** where it is not.`,
    markdownTable(objectPeersTable(run)),
    ...[[...reasons, ...engines, ...machineLines(run.machine)].map((line) => `- ${line}`).join("\n")],
  ].join("\n\n")
}

function cell(engine: ObjectPeer, ours: ObjectPeer | undefined, workload: string, figure: ObjectFigure): string {
  const values = valuesOf(engine, workload, figure.key)
  if (values === undefined) return "not measured"
  const shown = `${median(values).toPrecision(3)} ${figure.unit}`
  const mine = engine === ours || ours === undefined ? undefined : valuesOf(ours, workload, figure.key)
  if (mine === undefined) return shown
  const leads = values.map((value, round) => (figure.better === "less" ? value / (mine[round] ?? Number.NaN) : (mine[round] ?? Number.NaN) / value))
  const lead = median(leads)
  return `${shown} (${lead >= 1 ? lead.toPrecision(2) : `**${lead.toPrecision(2)}**`})`
}

function valuesOf({ workloads }: ObjectPeer, workload: string, key: string): readonly number[] | undefined {
  const outcome = workloads[workload]
  return outcome !== undefined && "rounds" in outcome ? outcome.rounds.map((sample) => sample[key] ?? Number.NaN) : undefined
}
