// Fails when the engine has become much slower: when a ratio to the raw floor, measured in the same moment, is worse than
// twice the committed one. This finds large changes, such as one more commit per step; `npm run bench` finds small ones.
// On a busy machine a single measurement can be far off, so a bad measurement is repeated, and the best one counts.

import { existsSync } from "node:fs"
import { type Baseline, guardedWorkloads, measureRatio, readBaseline } from "./baseline.ts"
import { short } from "./report.ts"
import type { Workload } from "./workload.ts"

const attemptsMax = 3
const roundsPerAttempt = 3
const worseMax = 2

async function passes(workload: Workload, baseline: Baseline): Promise<boolean> {
  const committed = baseline[workload.id]
  if (committed === undefined) throw new Error(`bench/baseline.json says nothing of ${workload.id}; write it again with \`npm run bench -- --write-baseline\``)
  let best = Number.POSITIVE_INFINITY
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const measured = await measureRatio(workload, roundsPerAttempt)
    const worse = measured.worseThan(committed)
    best = Math.min(best, worse)
    console.log(
      `${workload.id}: ${measured.label} ${short(measured.ratio)}, committed ${short(committed)}: ${short(worse)} × as bad, at most ${worseMax} is allowed`,
    )
    if (best <= worseMax) return true
  }
  return false
}

if (!existsSync(new URL("../dist/node/index.js", import.meta.url))) {
  console.error("the measurements run what is built; `npm run build` first")
  process.exit(2)
}

const baseline = readBaseline()
const slower: string[] = []
for (const workload of guardedWorkloads) if (!(await passes(workload, baseline))) slower.push(workload.id)
if (slower.length > 0) console.error(`${slower.join(", ")} became much slower; \`npm run bench -- --only ${slower.join(",")}\` shows by how much`)
process.exitCode = slower.length > 0 ? 1 : 0
