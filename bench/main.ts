// Perdure against its own raw floor, how its costs grow, and beside other engines.
//
//   npm run bench                                    all workloads
//   npm run bench -- --growth                        how costs grow with steps, rows and instances
//   npm run bench -- --objects                       in Durable Objects alone, which are part of all; --only objects,W1 for some
//   npm run bench -- --objects --peers               beside other engines in Durable Objects
//   npm run bench -- --dialect                       programs for Cloudflare Workflows beside the native API and Cloudflare's local engine
//   npm run bench -- --activities                    activities in processes of their own, on PostgreSQL
//   npm run bench -- --http                          requests a second over HTTP, and how long they take
//   npm run bench -- --peers                         beside other engines, which it installs in bench/peers at first
//   npm run bench -- --only W1,W3                    some of them; also --only postgres,W1; with --peers also engines, as in --only dbos,W1
//   npm run bench -- --rounds 5                      measured rounds, after one that is not (default 3)
//   npm run bench -- --folder /mnt/x                 where the databases go (default: the system's temporary folder)
//   npm run bench -- --json file                     everything that was measured
//   npm run bench -- --write-docs                    keeps what was measured in bench/results, and writes docs/performance.md and its charts
//   npm run bench -- --write-docs --from-results     writes them again from bench/results, and measures nothing
//   npm run bench -- --write-baseline                the ratios that bench/smoke.ts holds the next changes against

import { writeFileSync } from "node:fs"
import { type Arguments, readCommand } from "./arguments.ts"
import { writeBaseline } from "./baseline.ts"
import { writeDocs } from "./docs.ts"
import { outcomeOf } from "./outcome.ts"
import { measurePeers } from "./peers.ts"
import { bySection, saveResults, toText } from "./results.ts"
import { run } from "./run.ts"
import { tablesOf, textTable } from "./tables.ts"

async function measureAndReport({ workloads, section, json, ...options }: Arguments): Promise<void> {
  const measured = await run(workloads, options)
  const outcomes = measured.results.map(outcomeOf)
  console.log(`\nCounted rounds: ${options.rounds}; medians, with the lowest and the highest in brackets.`)
  for (const table of tablesOf(outcomes)) console.log(`\n${textTable(table)}`)
  if (json !== undefined) writeFileSync(json, toText(measured))
  const failed = outcomes.some(({ figures }) => figures === undefined)
  if (failed) process.exitCode = 1
  if (section === undefined) return
  if (failed) return console.error("docs/performance.md is as it was: not everything could be measured")
  for (const [name, part] of bySection(measured)) saveResults(name, part)
  writeDocs()
}

const command = readCommand(process.argv.slice(2))
if ("complaint" in command) {
  console.error(command.complaint)
  process.exitCode = 2
} else if (command.does === "write-baseline") {
  await writeBaseline()
} else if (command.does === "measure-peers") {
  await measurePeers(command.with)
} else if (command.does === "measure-object-peers") {
  const { measureObjectPeers } = await import("./objects/peers.ts")
  await measureObjectPeers(command.with)
} else if (command.does === "write-docs-from-results") {
  writeDocs()
} else {
  await measureAndReport(command.with)
}
