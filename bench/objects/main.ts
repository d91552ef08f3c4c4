// Perdure in Durable Objects against a bare object in the same run, and beside Cloudflare's own engine, all in one workerd of this machine.
//
//   npm run bench:objects                        all workloads, in /dev/shm where that is there: files on a disk drown what is measured in noise
//   npm run bench:objects -- --only W1,W3        some of them
//   npm run bench:objects -- --rounds 5          measured rounds, after one that is not (default 3)
//   npm run bench:objects -- --folder /mnt/x     where the storage goes
//   npm run bench:objects -- --without cloudflare
//   npm run bench:objects -- --json file         everything that was measured

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { median } from "../statistics.ts"
import { ObjectBench } from "./object-bench.ts"
import { figures, type Sample, table } from "./object-figures.ts"

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string", default: "3" },
    folder: { type: "string" },
    without: { type: "string" },
    json: { type: "string" },
  },
})
const rounds = Number(values.rounds)
if (!(Number.isSafeInteger(rounds) && rounds > 0)) throw new Error(`--rounds is a whole number of at least 1, not ${values.rounds}`)
const without = values.without?.split(",") ?? []
const engines = ["perdure", "bare", "cloudflare"].filter((engine) => !without.includes(engine))
const ids = values.only?.split(",") ?? Object.keys(figures)
const parent = values.folder ?? (existsSync("/dev/shm") ? "/dev/shm" : tmpdir())
const folder = mkdtempSync(join(parent, "perdure-objects-"))
const samples: Sample[] = []
try {
  const bench = await ObjectBench.start(folder)
  try {
    for (const workload of ids) {
      for (let round = 0; round <= rounds; round++) {
        for (const engine of engines) {
          const numbers = await bench.measure(engine, workload)
          console.log(`${workload} ${engine}, ${round === 0 ? "not counted" : `round ${round} of ${rounds}`}: ${JSON.stringify(numbers)}`)
          if (round > 0) samples.push({ workload, engine, round, numbers })
        }
      }
    }
  } finally {
    await bench.close()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(`\nStorage in ${parent}. Counted rounds: ${rounds}; medians.\n\n${table(samples, ids, median)}`)
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(samples, undefined, 2)}\n`)
