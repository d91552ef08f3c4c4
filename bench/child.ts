// The process in which one workload is measured: `node bench/child.ts <id> <folder> <rounds>`, with a channel to its parent.

import { TemporaryFolders } from "./folders.ts"
import { workloads } from "./workload-list.ts"

const [id, folder, rounds] = process.argv.slice(2)
const workload = workloads.find((candidate) => candidate.id === id)
if (workload === undefined || folder === undefined || rounds === undefined) throw new Error(`there is no workload ${String(id)}`)

const measure = await workload.prepare(new TemporaryFolders(folder))
if (!workload.processPerRound) await measure()
for (let round = 0; round < Number(rounds); round++) process.send?.(await measure())
process.disconnect?.()
