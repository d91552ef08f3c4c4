// `npm run check`: what finds most mistakes in half a minute. All checks run at the same time; only the output of those that fail is shown.

import { runCommand } from "./command.ts"

const checks: readonly (readonly [name: string, command: string])[] = [
  ["format", "oxfmt --check"],
  ["lint", "npm run --silent lint"],
  ["types", "npm run --silent typecheck"],
  ["house rules", "vitest run --project unit test/house-rules.test.ts test/docs.test.ts"],
  ["knip", "npm run --silent knip"],
]

async function check(name: string, command: string): Promise<boolean> {
  const startedAt = performance.now()
  let output = ""
  const hasPassed = await runCommand(command, { onText: (text) => (output += text) })
  console.log(`${hasPassed ? "passed" : "FAILED"}  ${name.padEnd(12)} ${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)} s`)
  if (!hasPassed) console.log(`\n${output.trim()}\n\nagain: ${command}\n`)
  return hasPassed
}

const outcomes = await Promise.all(checks.map(([name, command]) => check(name, command)))
process.exitCode = outcomes.every(Boolean) ? 0 : 1
