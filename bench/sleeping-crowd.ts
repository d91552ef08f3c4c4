// Fills a database with sleeping instances and dies without a word: `node bench/sleeping-crowd.ts <folder> <count>`. Sends its memory first.

import { sleeper } from "./bench-workflows.ts"
import { openEngine } from "./engine-on-disk.ts"
import { residentSet } from "./resident-set.ts"

const batch = 1_000
const sleepMs = 30 * 24 * 3_600_000

const [folder = "", count = ""] = process.argv.slice(2)
const engine = await openEngine(folder)
const startedAt = performance.now()
for (let started = 0; started < Number(count); started += batch) {
  const results = await engine.startBatch(Array.from({ length: batch }, () => ({ workflow: sleeper, input: sleepMs })))
  if (results.some(({ created }) => !created)) throw new Error("an instance was not created")
}
while (((await engine.count({}, "status"))["sleeping"] ?? 0) < Number(count)) await new Promise((resolve) => setTimeout(resolve, 20))
const asleepMs = performance.now() - startedAt
process.send?.({ asleepMs, ...residentSet() }, () => process.exit(0))
