// Runs the suites one after another and closes with the last lines of those that failed, the times of all, and one line, "N passed, N failed".
//
//   node tools/test/run.ts                 all suites, crash and simulation in their short form
//   node tools/test/run.ts lint unit       only these
//   node tools/test/run.ts --long          the suites that have a whole form, in that form
//   node tools/test/run.ts --times 5 --busy unit   each five times, while another process keeps a core busy: finds tests that depend on timing

import { spawn } from "node:child_process"
import { once } from "node:events"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { keepCoreBusy } from "./busy-core.ts"
import { type Suite, suites } from "./suites.ts"

type Outcome = "passed" | "failed"

interface Result {
  readonly name: string
  readonly outcome: Outcome
  readonly seconds: number
  readonly lastLines: readonly string[]
}

const root = fileURLToPath(new URL("../../", import.meta.url))

/** What is shown once more of a suite that failed: in a log, its own place is far up. */
const linesShownAgain = 80

interface Ended {
  readonly isGreen: boolean
  /** The last lines that it wrote; empty in a terminal, which it writes to directly. */
  readonly lastLines: readonly string[]
}

async function run(command: string, long: boolean): Promise<Ended> {
  const path = [join(root, "node_modules", ".bin"), process.env["PATH"]].join(delimiter)
  const env = { ...process.env, PATH: path, ...(long ? { LONG: "1" } : {}) }
  const output = process.stdout.isTTY ? "inherit" : "pipe"
  const child = spawn(command, { cwd: root, shell: true, stdio: ["ignore", output, output], env })
  let lastLines: string[] = []
  const passOn = (to: NodeJS.WriteStream) => (text: string) => {
    to.write(text)
    const [first, ...rest] = text.split("\n")
    lastLines = [...lastLines.slice(0, -1), (lastLines.at(-1) ?? "") + first, ...rest].slice(-linesShownAgain)
  }
  child.stdout?.setEncoding("utf8").on("data", passOn(process.stdout))
  child.stderr?.setEncoding("utf8").on("data", passOn(process.stderr))
  const [code] = (await once(child, "close")) as [number | null]
  return { isGreen: code === 0, lastLines }
}

async function runSuite(suite: Suite, long: boolean): Promise<Pick<Result, "outcome" | "lastLines">> {
  for (const command of suite.commands) {
    console.log(`\n=== ${suite.name}: ${command}\n`)
    const { isGreen, lastLines } = await run(command, long)
    if (!isGreen) return { outcome: "failed", lastLines }
  }
  return { outcome: "passed", lastLines: [] }
}

const { values, positionals } = parseArgs({
  options: { long: { type: "boolean", default: false }, times: { type: "string", default: "1" }, busy: { type: "boolean", default: false } },
  allowPositionals: true,
})
const times = Number(values.times)
if (!Number.isInteger(times) || times < 1) {
  console.error(`--times takes a whole number from 1 on; it is "${values.times}"`)
  process.exit(2)
}
const unknown = positionals.filter((name) => !suites.some((suite) => suite.name === name))
if (unknown.length > 0) {
  console.error(`no suite called ${unknown.join(", ")}; there are ${suites.map((suite) => suite.name).join(", ")}`)
  process.exit(2)
}

const chosen = suites.filter(
  (suite) =>
    (values.long ? suite.long : suite.long !== "only" || positionals.includes(suite.name)) && (positionals.length === 0 || positionals.includes(suite.name)),
)
const results: Result[] = []
const idle = values.busy ? keepCoreBusy() : undefined
for (const suite of chosen) {
  for (let round = 1; round <= times; round += 1) {
    const startedAt = performance.now()
    const ended = await runSuite(suite, values.long)
    results.push({ name: times === 1 ? suite.name : `${suite.name} ${round}`, ...ended, seconds: (performance.now() - startedAt) / 1000 })
  }
}
idle?.()

for (const { name, lastLines } of results) if (lastLines.length > 0) console.log(`\n=== ${name} failed; its last lines:\n\n${lastLines.join("\n")}`)

const count = (outcome: Outcome) => results.filter((result) => result.outcome === outcome).length
const row = (name: string, seconds: number, outcome: string) => `  ${name.padEnd(14)}${seconds.toFixed(1).padStart(8)} s  ${outcome}`.trimEnd()
const total = results.reduce((sum, result) => sum + result.seconds, 0)
console.log(`\n${[...results.map((result) => row(result.name, result.seconds, result.outcome)), row("total", total, "")].join("\n")}\n`)
console.log(`${count("passed")} passed, ${count("failed")} failed`)
process.exitCode = count("failed") > 0 ? 1 : 0
