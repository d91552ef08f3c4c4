// The table at the top of docs/performance.md: Perdure and other engines, in the five figures that a user asks for first. All numbers come from the
// comparisons with other engines, on Node (bench/peers) and in Durable Objects (bench/objects).

import { loadObjectPeers, type ObjectPeer, type ObjectPeersRun } from "./objects/peers-report.ts"
import { compare, compareOnPostgres, type Comparison } from "./peers/comparison.ts"
import type { PeersOutcome } from "./peers/outcome.ts"
import { loadPeersResults } from "./peers/peers-results.ts"
import { machineLines, short, type Table, withUnit } from "./report.ts"
import { median } from "./statistics.ts"
import { markdownTable } from "./tables.ts"

interface Column {
  readonly title: string
  readonly unit: string
  /** The figure of the comparison on Node. */
  readonly onNode: string
  /** The figure of the comparison in Durable Objects, if it was measured: workload and key. */
  readonly inObjects?: readonly [workload: string, key: string]
}

const columns: readonly Column[] = [
  { title: "instances of ten steps a second", unit: "/s", onNode: "workflowsPerSecond", inObjects: ["W1", "perSecond"] },
  { title: "start to result of one step", unit: "ms", onNode: "startP50Ms", inObjects: ["W2", "meanMs"] },
  { title: "one step of a sequence", unit: "ms", onNode: "stepMs", inObjects: ["W3", "stepMs"] },
  { title: "event to result", unit: "ms", onNode: "eventMs", inObjects: ["W5", "p50Ms"] },
  { title: "memory of the process", unit: "MB", onNode: "residentMb" },
]

const unmeasured = "Not measured yet."

/** The values of the template that concern the comparison as a whole. */
export function summaryValues(): Readonly<Record<string, string>> {
  const { whole } = loadPeersResults()
  const objects = loadObjectPeers()
  return {
    summary: whole === undefined ? unmeasured : markdownTable(summaryTable(whole, objects)),
    summaryMachine: whole === undefined ? "" : `${machineLines(whole.machine)[1] ?? ""}; measured on ${whole.measuredOn}`,
    timesDbos: whole === undefined ? "" : leadText(compareOnPostgres(whole), "workflowsPerSecond", "DBOS"),
    timesDbosStart: whole === undefined ? "" : leadText(compareOnPostgres(whole), "startP50Ms", "DBOS"),
    timesRestate: whole === undefined ? "" : leadText(compare(whole), "workflowsPerSecond", "Restate"),
    timesCloudflare: objects === undefined ? "" : objectLeadText(objects, "W1", "perSecond"),
  }
}

function summaryTable(outcome: PeersOutcome, objects: ObjectPeersRun | undefined): Table {
  const comparisons = compare(outcome)
  const rows = outcome.engines.map((engine) => [
    engine.name,
    ...columns.map(({ onNode, unit }) => {
      const standing = comparisons.find(({ figure }) => figure.key === onNode)?.standings.find((candidate) => candidate.engine === engine)
      return standing?.value === undefined ? "" : withUnit(short(standing.value.median), unit)
    }),
  ])
  const objectRows = (objects?.engines ?? [])
    .filter(({ id }) => id !== "bare")
    .map((engine) => [nameInObjects(engine), ...columns.map((column) => objectCell(engine, column))])
  return { head: ["", ...columns.map(({ title }) => title)], rows: [...rows, ...objectRows] }
}

const nameInObjects = ({ name }: ObjectPeer) => `${name}, Durable Objects`

function objectCell(engine: ObjectPeer, { inObjects, unit }: Column): string {
  const values = inObjects && valuesOf(engine, ...inObjects)
  return values === undefined ? "" : withUnit(short(median(values)), unit)
}

function valuesOf({ workloads }: ObjectPeer, workload: string, key: string): readonly number[] | undefined {
  const outcome = workloads[workload]
  return outcome !== undefined && "rounds" in outcome ? outcome.rounds.flatMap((sample) => sample[key] ?? []) : undefined
}

/** How many times better Perdure is: the median of the ratios within the rounds. */
function leadText(comparisons: readonly Comparison[], key: string, peer: string): string {
  const lead = comparisons.find(({ figure }) => figure.key === key)?.standings.find(({ engine }) => engine.name.startsWith(peer))?.lead
  return lead === undefined ? unmeasured : timesText(lead.median)
}

function objectLeadText({ engines }: ObjectPeersRun, workload: string, key: string): string {
  const [ours, theirs] = ["Perdure", "Cloudflare Workflows"].map((wanted) => {
    const engine = engines.find(({ name }) => name === wanted)
    return engine && valuesOf(engine, workload, key)
  })
  if (ours === undefined || theirs === undefined) return unmeasured
  return timesText(median(theirs.map((value, round) => (ours[round] ?? Number.NaN) / value)))
}

const timesText = (times: number) => (times >= 10 ? times.toFixed(0) : times.toFixed(1))
