// The process in which one engine does one round of a workload, after one that is not counted: `node bench/peers/child.ts <peer> <workload> <place>`,
// with a channel to its parent.

import type { OpenPeer, Place } from "./adapter.ts"
import { peerWorkloads } from "./workloads.ts"

const [id = "", workloadId, place] = process.argv.slice(2)
const workload = peerWorkloads.find((candidate) => candidate.id === workloadId)
if (workload === undefined || place === undefined) throw new Error(`there is no workload ${String(workloadId)}`)

const { open } = (await import(`./adapters/${id}.ts`)) as { readonly open: OpenPeer }
const peer = await open(JSON.parse(place) as Place)
try {
  if (!workload.isCold) await workload.measure(peer)
  process.send?.(await workload.measure(peer))
} finally {
  await peer.close()
}
// Some engines leave timers or sockets behind.
process.exit(0)
