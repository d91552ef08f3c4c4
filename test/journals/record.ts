// Records the golden journals that do not exist yet. Existing journals are never written again, because they prove that their version can still be read.
//
//   node test/journals/record.ts                    the journals of this version
//   node test/journals/record.ts /tmp/look          the same journals into another folder, to look at them first

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { expectReplay } from "../../src/testing.ts"
import { type GoldenJournal, outcomeOf } from "./golden-journal.ts"
import { playScenario, scenarios } from "./scenarios.ts"
import { goldenCodec } from "./workflows.ts"

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }
const [elsewhere] = process.argv.slice(2)
const folder = elsewhere === undefined ? new URL(`./${version}/`, import.meta.url) : pathToFileURL(`${resolve(elsewhere)}/`)

// Stacks contain folders of the machine on which they were recorded.
Error.stackTraceLimit = 0

mkdirSync(folder, { recursive: true })
let kept = 0
for (const scenario of scenarios) {
  const file = new URL(`${scenario.name}.json`, folder)
  if (existsSync(file)) {
    kept++
    continue
  }
  const engine = await playScenario(scenario)
  const journal = await engine.journal(scenario.instance ?? scenario.name)
  const golden: GoldenJournal = { recordedBy: version, journal, replays: outcomeOf(await expectReplay(journal, scenario.workflow, { codec: goldenCodec })) }
  await engine.close()
  writeFileSync(file, `${JSON.stringify(golden, undefined, 2)}\n`, { flag: "wx" })
  console.log(`recorded ${scenario.name}.json: ${golden.replays.status}`)
}
if (kept > 0) {
  console.error(
    `${kept} of ${scenarios.length} exist and are kept as they are: a golden journal is never recorded again. A new case is a new scenario, with a name of its own.`,
  )
  process.exitCode = kept === scenarios.length ? 1 : 0
}
