// Runs suites or test files, two suites at a time, and closes with the last lines of what failed, the time of each suite, and one line, "N passed, N failed".
//
//   npm test                                    all suites, crash and simulation in their short form
//   npm test -- lint unit                       only these suites
//   npm test -- src/core/time/duration.test.ts  only this file, or a folder; `-t words` picks tests by their names
//   npm test -- --long                          the suites that have a long form, in that form
//   npm test -- --one-by-one                    one suite at a time, which writes to the terminal itself
//   npm test -- --times 5 --busy unit           five times, while another process keeps a core busy: finds tests that depend on timing

import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { keepCoreBusy } from "./busy-core.ts"
import { runCommand } from "./command.ts"
import { GroupedOutput, type OutputSection } from "./grouped-output.ts"
import { runOnSchedule } from "./suite-schedule.ts"
import { type Suite, suites } from "./suites.ts"
import { suitesOfPaths } from "./test-files.ts"

interface Result {
  readonly name: string
  readonly hasPassed: boolean
  readonly seconds: number
  /** Of the command that failed; empty in a terminal to which the command wrote itself. */
  readonly lastLines: readonly string[]
}

/** What is shown again of a suite that failed, because its own place in a log is far up. */
const linesShownAgain = 80

const { values, positionals } = parseArgs({
  options: {
    long: { type: "boolean", default: false },
    times: { type: "string", default: "1" },
    busy: { type: "boolean", default: false },
    "one-by-one": { type: "boolean", default: false },
    "test-name-pattern": { type: "string", short: "t" },
  },
  allowPositionals: true,
})
const times = Number(values.times)
if (!Number.isInteger(times) || times < 1) refuse(`--times takes a whole number from 1 on; it is "${values.times}"`)

const rounds = chosenSuites().flatMap((suite) =>
  times === 1 ? [suite] : Array.from({ length: times }, (_, round): Suite => ({ ...suite, name: `${suite.name} ${round + 1}` })),
)
const atOnceMax = values["one-by-one"] || values.busy || times > 1 || rounds.length === 1 ? 1 : Math.min(2, availableParallelism())
/** Node keeps compiled modules here, because the tests start some thousand processes with the same modules. */
const compileCache = mkdtempSync(join(tmpdir(), "perdure-test-"))
process.on("exit", () => rmSync(compileCache, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }))
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))

const output = new GroupedOutput((text) => process.stdout.write(text))
const begunAt = performance.now()
const letCoreIdle = values.busy ? keepCoreBusy() : undefined
const results = await runOnSchedule(rounds, atOnceMax, runSuite)
letCoreIdle?.()
report()

function chosenSuites(): readonly Suite[] {
  const isNamed = (suite: Suite) => positionals.includes(suite.name)
  const paths = positionals.filter((word) => !suites.some(({ name }) => name === word))
  if (values["test-name-pattern"] !== undefined && paths.length < Math.max(1, positionals.length)) refuse("-t picks tests of the files that you name")
  const inForm = suites.filter((suite) => (values.long ? suite.long : suite.long !== "only" || isNamed(suite)))
  try {
    const ofPaths = suitesOfPaths(paths, process.env["INIT_CWD"] ?? process.cwd(), values["test-name-pattern"])
    return [...(positionals.length === 0 ? inForm : inForm.filter(isNamed)), ...ofPaths]
  } catch (error) {
    return refuse(`${(error as Error).message}\nsuites: ${suites.map(({ name }) => name).join(", ")}`)
  }
}

function refuse(message: string): never {
  console.error(message)
  process.exit(2)
}

async function runSuite(suite: Suite): Promise<Result> {
  const startedAt = performance.now()
  const section = output.open()
  // Measurements include the time to load modules.
  const env = { ...(suite.alone ? {} : { NODE_COMPILE_CACHE: compileCache }), ...suite.env, ...(values.long ? { LONG: "1" } : {}) }
  const writesItself = atOnceMax === 1 && process.stdout.isTTY
  let hasPassed = true
  for (const command of suite.commands) {
    section.write(`\n=== ${suite.name}: ${command}\n\n`)
    hasPassed = await runCommand(command, { env, ...(writesItself ? {} : { onText: (text) => section.write(text) }) })
    if (!hasPassed) break
  }
  const seconds = (performance.now() - startedAt) / 1000
  const lastLines = hasPassed || writesItself ? [] : section.lastLines(linesShownAgain)
  end(section, suite, hasPassed, seconds)
  return { name: suite.name, hasPassed, seconds, lastLines }
}

function end(section: OutputSection, { name }: Suite, hasPassed: boolean, seconds: number): void {
  section.write(`\n=== ${name} ${hasPassed ? "passed" : "failed"} after ${seconds.toFixed(1)} s\n`)
  section.end()
}

function report(): void {
  for (const { name, lastLines } of results) if (lastLines.length > 0) console.log(`\n=== ${name} failed; its last lines:\n\n${lastLines.join("\n")}`)

  const row = (name: string, seconds: number, outcome: string) => `  ${name.padEnd(14)}${seconds.toFixed(1).padStart(8)} s  ${outcome}`.trimEnd()
  const rows = results.map(({ name, seconds, hasPassed }) => row(name, seconds, hasPassed ? "passed" : "failed"))
  const atOnce = atOnceMax > 1 ? `${atOnceMax} suites at a time` : ""
  console.log(`\n${[...rows, row("total", (performance.now() - begunAt) / 1000, atOnce)].join("\n")}\n`)
  const failed = results.filter(({ hasPassed }) => !hasPassed).length
  console.log(`${results.length - failed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}
