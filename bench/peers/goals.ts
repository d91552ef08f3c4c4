// The goals for the lead of Perdure on PostgreSQL over an engine on the same server.

import { spreadText, verdictText } from "../report.ts"
import { compareOnPostgres } from "./comparison.ts"
import type { PeersOutcome } from "./outcome.ts"

const goals = [
  { key: "workflowsPerSecond", peer: "dbos", lead: 20 },
  { key: "startP50Ms", peer: "dbos", lead: 2 },
  { key: "eventMs", peer: "dbos", lead: 2 },
  { key: "remoteEventMs", peer: "dbos", lead: 2 },
] as const

/** A line for each measured goal. */
export function goalLines(outcome: PeersOutcome): readonly string[] {
  const comparisons = compareOnPostgres(outcome)
  return goals.flatMap(({ key, peer, lead: limit }) => {
    const comparison = comparisons.find(({ figure }) => figure.key === key)
    const standing = comparison?.standings.find(({ engine }) => engine.id === peer)
    if (comparison === undefined || standing?.lead === undefined) return []
    const { workload, label } = comparison.figure
    return [`${workload}, ${label}: ${spreadText(standing.lead)} × ${standing.engine.name}, goal ≥ ${limit}: ${verdictText(standing.lead.median >= limit)}`]
  })
}
