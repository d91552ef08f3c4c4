// The process in which one engine does one round of a workload, after one that is not counted: `node bench/peers/child.ts <peer> <workload> <place>`,
// with a channel to its parent.

import type { OpenPeer, Place } from "./adapter.ts"
import { peerWorkloads } from "./workloads.ts"

const [id = "", workloadId, place] = process.argv.slice(2)
const workload = peerWorkloads.find((candidate) => candidate.id === workloadId)
if (workload === undefined || place === undefined) throw new Error(`there is no workload ${String(workloadId)}`)

const { open } = (await import(`./adapters/${id}.ts`)) as { readonly open: OpenPeer }
const where = { id, place: JSON.parse(place) as Place }
const peer = await open(where.place)
try {
  if (!workload.isCold) await workload.measure(peer, where)
  process.send?.(await workload.measure(peer, where))
} finally {
  await peer.close()
}
// Some engines leave timers or sockets behind.
process.exit(0)
