// The process in which one engine does one workload: `node bench/peers/child.ts <peer> <workload> <rounds> <place>`, with a channel to its parent.

import type { OpenPeer, Place } from "./adapter.ts"
import { peerWorkloads } from "./workloads.ts"

const [id = "", workloadId, rounds, place] = process.argv.slice(2)
const workload = peerWorkloads.find((candidate) => candidate.id === workloadId)
if (workload === undefined || rounds === undefined || place === undefined) throw new Error(`there is no workload ${String(workloadId)}`)

const { open } = (await import(`./adapters/${id}.ts`)) as { readonly open: OpenPeer }
const peer = await open(JSON.parse(place) as Place)
try {
  if (!workload.processPerRound) await workload.measure(peer)
  for (let round = 0; round < Number(rounds); round++) process.send?.(await workload.measure(peer))
} finally {
  await peer.close()
}
// Some engines leave timers or sockets behind.
process.exit(0)
