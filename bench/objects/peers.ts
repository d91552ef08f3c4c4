// Perdure beside other engines in Durable Objects: what `npm run bench -- --objects --peers` does.

import { writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { writeDocs } from "../docs.ts"
import { describeMachine } from "../machine.ts"
import { install, versionOf } from "../peers/installation.ts"
import { sampleText } from "../report.ts"
import { textTable } from "../tables.ts"
import type { Sample } from "../workload.ts"
import { ObjectBench } from "./object-bench.ts"
import { type ObjectPeer, objectPeersTable, type ObjectPeersRun, saveObjectPeers } from "./peers-report.ts"
import { objectWorkloads } from "./section.ts"

export interface ObjectPeersArguments {
  readonly rounds: number
  readonly folder?: string
  readonly json?: string
  /** Keeps the results, and writes them to the docs. */
  readonly docs: boolean
}

const effectPackage = "@durable-effect/workflow"

const engines: readonly Pick<ObjectPeer, "id" | "name" | "remarks">[] = [
  { id: "perdure", name: "Perdure", remarks: [] },
  { id: "bare", name: "a bare object", remarks: ["the floor, without an engine"] },
  {
    id: "cloudflare",
    name: "Cloudflare Workflows",
    remarks: ["its local engine, as miniflare runs it; it tells nobody of an end, and is asked every millisecond"],
  },
  { id: "effect", name: effectPackage, remarks: ["its call to start one resolves at the end, and there are no results and no events"] },
]

export async function measureObjectPeers({ rounds, folder = tmpdir(), json, docs }: ObjectPeersArguments): Promise<void> {
  const notInstalled = await reasonOf(install())
  if (notInstalled !== undefined) console.log(`\n${effectPackage} is not run: ${notInstalled}`)
  const machine = describeMachine(folder)
  const bench = await ObjectBench.start({ folder, withEffect: notInstalled === undefined })
  const turns = new Map<string, Record<string, { rounds: Sample[] } | { reason: string }>>(engines.map(({ id }) => [id, {}]))
  try {
    for (const { id: workload, title, isCrowd } of objectWorkloads) {
      console.log(`\n${workload}: ${title}`)
      for (let round = 0; round <= rounds; round++) {
        for (const { id, name } of engines) {
          const outcomes = turns.get(id) ?? {}
          const outcome = (outcomes[workload] ??= id === "effect" && notInstalled !== undefined ? { reason: notInstalled } : { rounds: [] })
          if ("reason" in outcome) continue
          try {
            const sample = await bench.measure(id, workload, isCrowd)
            if (round > 0) outcome.rounds.push(sample)
            console.log(`  ${round === 0 ? "not counted" : `${round} of ${rounds}`}, ${name}: ${sampleText(sample)}`)
          } catch (error) {
            // Further lines of the message contain paths of this machine.
            outcomes[workload] = { reason: messageOf(error).split("\n")[0] ?? "" }
            console.log(`  ${name}: not measured: ${messageOf(error)}`)
          }
        }
      }
    }
  } finally {
    await bench.close()
  }
  const measured = engines.map((engine) => ({
    ...engine,
    ...(engine.id === "effect" && notInstalled === undefined ? { version: versionOf(effectPackage) } : {}),
    workloads: turns.get(engine.id) ?? {},
  }))
  const run: ObjectPeersRun = { measuredOn: new Date().toISOString().slice(0, "2026-01-01".length), machine, rounds, engines: measured }
  console.log(`\nCounted rounds: ${rounds}; medians, in brackets how many times better Perdure is.\n\n${textTable(objectPeersTable(run))}`)
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(run, undefined, 2)}\n`)
  if (Object.values(turns.get("perdure") ?? {}).some((outcome) => "reason" in outcome)) process.exitCode = 1
  else if (docs) {
    saveObjectPeers(run)
    writeDocs()
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

async function reasonOf(work: Promise<void>): Promise<string | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
