import type { PeerDescription } from "./adapter.ts"
import { ours, peers } from "./peer-list.ts"
import { type PeerWorkload, peerWorkloads } from "./workloads.ts"

export interface Choice {
  readonly engines: readonly PeerDescription[]
  readonly workloads: readonly PeerWorkload[]
}

/** Reads `--only dbos,W1`. Without a named engine all engines are chosen, and without a named workload all workloads. Perdure is always chosen. */
export function choose(only: string | undefined): Choice | { readonly complaint: string } {
  const names = only === undefined ? [] : only.split(",").map((name) => name.trim())
  const isPeer = ({ id }: PeerDescription, name: string) => id === name || id.startsWith(`${name}-`)
  const unknown = names.filter((name) => !peers.some((peer) => isPeer(peer, name)) && !peerWorkloads.some(({ id }) => id === name))
  if (unknown.length > 0) {
    return { complaint: `no engine or workload called ${unknown.join(", ")}; there are ${[...peers, ...peerWorkloads].map(({ id }) => id).join(", ")}` }
  }
  const namedPeers = peers.filter((peer) => names.some((name) => isPeer(peer, name)))
  const namedWorkloads = peerWorkloads.filter(({ id }) => names.includes(id))
  return {
    engines: namedPeers.length === 0 ? peers : peers.filter((peer) => ours.includes(peer) || namedPeers.includes(peer)),
    workloads: namedWorkloads.length === 0 ? peerWorkloads : namedWorkloads,
  }
}
