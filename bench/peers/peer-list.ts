import type { PeerDescription } from "./adapter.ts"
import { absurd } from "./adapters/absurd-peer.ts"
import { dbos } from "./adapters/dbos-peer.ts"
import { openworkflowPostgres } from "./adapters/openworkflow-postgres-peer.ts"
import { openworkflowSqlite } from "./adapters/openworkflow-sqlite-peer.ts"
import { perdureSqlite } from "./adapters/perdure-sqlite-peer.ts"
import { restate } from "./adapters/restate-peer.ts"

/** Ours is the first: the others are compared with it, and it is measured whatever is chosen. */
export const ours: PeerDescription = perdureSqlite

export const peers: readonly PeerDescription[] = [ours, dbos, openworkflowSqlite, openworkflowPostgres, absurd, restate]
