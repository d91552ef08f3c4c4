// Runs the suites one after another and closes with their times and one line, "N passed, N failed".
//
//   node tools/test/run.ts                 all suites, crash and simulation in their short form
//   node tools/test/run.ts lint unit       only these
//   node tools/test/run.ts --long          the suites that have a whole form, in that form

import { spawn } from "node:child_process"
import { once } from "node:events"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { type Suite, suites } from "./suites.ts"

type Outcome = "passed" | "failed"

const root = fileURLToPath(new URL("../../", import.meta.url))

async function run(command: string, long: boolean): Promise<boolean> {
  const path = [join(root, "node_modules", ".bin"), process.env["PATH"]].join(delimiter)
  const env = { ...process.env, PATH: path, ...(long ? { LONG: "1" } : {}) }
  const child = spawn(command, { cwd: root, shell: true, stdio: ["ignore", "inherit", "inherit"], env })
  const [code] = (await once(child, "close")) as [number | null]
  return code === 0
}

async function runSuite(suite: Suite, long: boolean): Promise<Outcome> {
  for (const command of suite.commands) {
    console.log(`\n=== ${suite.name}: ${command}\n`)
    if (!(await run(command, long))) return "failed"
  }
  return "passed"
}

const { values, positionals } = parseArgs({ options: { long: { type: "boolean", default: false } }, allowPositionals: true })
const unknown = positionals.filter((name) => !suites.some((suite) => suite.name === name))
if (unknown.length > 0) {
  console.error(`no suite called ${unknown.join(", ")}; there are ${suites.map((suite) => suite.name).join(", ")}`)
  process.exit(2)
}

const chosen = suites.filter(
  (suite) =>
    (values.long ? suite.long : suite.long !== "only" || positionals.includes(suite.name)) && (positionals.length === 0 || positionals.includes(suite.name)),
)
const results: { readonly name: string; readonly outcome: Outcome; readonly seconds: number }[] = []
for (const suite of chosen) {
  const startedAt = performance.now()
  const outcome = await runSuite(suite, values.long)
  results.push({ name: suite.name, outcome, seconds: (performance.now() - startedAt) / 1000 })
}

const count = (outcome: Outcome) => results.filter((result) => result.outcome === outcome).length
const row = (name: string, seconds: number, outcome: string) => `  ${name.padEnd(12)}${seconds.toFixed(1).padStart(8)} s  ${outcome}`.trimEnd()
const total = results.reduce((sum, result) => sum + result.seconds, 0)
console.log(`\n${[...results.map((result) => row(result.name, result.seconds, result.outcome)), row("total", total, "")].join("\n")}\n`)
console.log(`${count("passed")} passed, ${count("failed")} failed`)
process.exitCode = count("failed") > 0 ? 1 : 0
