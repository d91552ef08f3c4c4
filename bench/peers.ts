// `npm run bench -- --peers`: measures Perdure beside other engines. The rest of its code is in bench/peers.

import { writeFileSync } from "node:fs"
import { writeDocs } from "./docs.ts"
import { peersTable } from "./peers/peers-report.ts"
import { savePeersResults, toText } from "./peers/peers-results.ts"
import { ours, peers } from "./peers/peer-list.ts"
import { type PeersOptions, runPeers, whyNot } from "./peers/peers-run.ts"

export interface PeersArguments extends PeersOptions {
  /** A file for all measured values. */
  readonly json?: string
  /** Keeps the results, and writes them to the docs. */
  readonly docs: boolean
}

/** Fails if Perdure could not be measured. If a peer could not be measured, the report says so. */
export async function measurePeers({ json, docs, ...options }: PeersArguments): Promise<void> {
  const outcome = await runPeers(options)
  console.log(`\nCounted rounds: ${options.rounds}; medians, with the lowest and the highest in brackets.\n\n${peersTable(outcome)}`)
  if (json !== undefined) writeFileSync(json, toText(outcome))
  const failed = ours.some((engine) => {
    const measured = outcome.engines.find(({ id }) => id === engine.id)
    return (
      measured === undefined ||
      options.workloads.some((workload) => !whyNot(engine, workload) && "reason" in (measured.workloads[workload.id] ?? { reason: "" }))
    )
  })
  if (failed) process.exitCode = 1
  if (!docs) return
  if (failed) return console.error("docs/performance.md is as it was: Perdure could not be measured")
  savePeersResults(outcome, options.engines.length === peers.length)
  writeDocs()
}
