// The process in which one workload is measured: `node child.js <workload> <target> <folder> <rounds>`, with a channel to its parent.

import { TemporaryFolders } from "./folders.ts"
import { workloads } from "./section-list.ts"
import { targetCalled } from "./target.ts"
import type { Sample } from "./workload.ts"

/** A message to the parent: the progress, the begin of a rest, or the sample of a round. */
export type Message = { readonly progress: string } | { readonly resting: true } | { readonly sample: Sample }

const send = (message: Message) => process.send?.(message)

const [id, target, folder, rounds] = process.argv.slice(2)
const workload = workloads.find((candidate) => candidate.id === id)
if (workload === undefined || target === undefined || folder === undefined || rounds === undefined) throw new Error(`there is no workload ${String(id)}`)

const progress = (text: string) => send({ progress: text })
progress("preparing")
const measure = await workload.prepare(new TemporaryFolders(folder), { target: targetCalled(target), progress, resting: () => send({ resting: true }) })
if (!workload.processPerRound) {
  progress("a round that is not counted")
  await measure()
}
for (let round = 1; round <= Number(rounds); round++) {
  progress(`round ${round} of ${rounds}`)
  send({ sample: await measure() })
}
process.disconnect?.()
