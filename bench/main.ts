// Perdure against its own raw floor.
//
//   npm run bench                        all workloads
//   npm run bench -- --only W1,W3        some of them
//   npm run bench -- --rounds 5          measured rounds, after one that is not (default 3)
//   npm run bench -- --folder /mnt/x     where the databases go (default: the system's temporary folder)
//   npm run bench -- --json file         everything that was measured
//   npm run bench -- --write-docs        all workloads, and docs/performance.md from them
//   npm run bench -- --write-baseline    the ratios that bench/smoke.ts holds the next changes against

import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { writeBaseline } from "./baseline.ts"
import { writeDocs } from "./docs.ts"
import { describeMachine } from "./machine.ts"
import { measure, summarise } from "./measurement.ts"
import { machineLines, type Outcome, rowsOf, sampleText, table } from "./report.ts"
import type { Workload } from "./workload.ts"
import { workloads } from "./workload-list.ts"

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string", default: "3" },
    folder: { type: "string" },
    json: { type: "string" },
    "write-docs": { type: "boolean", default: false },
    "write-baseline": { type: "boolean", default: false },
  },
})

const place = values.folder === undefined ? undefined : { folder: values.folder }

async function outcomeOf(workload: Workload, rounds: number): Promise<Outcome> {
  console.log(`\n${workload.id}: ${workload.title}`)
  try {
    const samples = await measure(workload, { rounds, ...place, onSample: (sample) => console.log(`  ${sampleText(sample)}`) })
    return { workload, samples, figures: summarise(workload, samples) }
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error)
    console.log(`  FAILED: ${failure}`)
    return { workload, failure }
  }
}

function chosen(): readonly Workload[] {
  if (values.only === undefined) return workloads
  const ids = values.only.split(",").map((id) => id.trim())
  const isChosen = (workload: Workload, id: string) => workload.id === id || workload.id.startsWith(`${id}-`)
  const unknown = ids.filter((id) => !workloads.some((workload) => isChosen(workload, id)))
  if (unknown.length > 0) stop(`no workload called ${unknown.join(", ")}; there are ${workloads.map(({ id }) => id).join(", ")}`)
  return workloads.filter((workload) => ids.some((id) => isChosen(workload, id)))
}

function stop(complaint: string): never {
  console.error(complaint)
  process.exit(2)
}

const rounds = Number(values.rounds)
if (!(Number.isSafeInteger(rounds) && rounds > 0)) stop(`--rounds is a whole number of at least 1, not ${values.rounds}`)

if (values["write-baseline"]) {
  await writeBaseline()
} else {
  if (values["write-docs"] && values.only !== undefined) stop("--write-docs writes about all workloads; leave --only out")
  const machine = describeMachine(values.folder)
  for (const line of machineLines(machine)) console.log(line)
  const outcomes: Outcome[] = []
  for (const workload of chosen()) outcomes.push(await outcomeOf(workload, rounds))
  console.log(
    `\nCounted rounds: ${rounds}, after one that was not; medians, with the lowest and the highest in brackets.\n\n${table(outcomes.flatMap(rowsOf))}`,
  )
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ machine, rounds, outcomes }, undefined, 2)}\n`)
  const failed = outcomes.some(({ figures }) => figures === undefined)
  if (values["write-docs"] && failed) stop("docs/performance.md is as it was: not everything could be measured")
  if (values["write-docs"]) writeDocs({ machine, rounds, outcomes })
  process.exitCode = failed ? 1 : 0
}
