import type { PeerDescription } from "./adapter.ts"
import { absurd } from "./adapters/absurd-peer.ts"
import { dbos } from "./adapters/dbos-peer.ts"
import { openworkflowPostgres } from "./adapters/openworkflow-postgres-peer.ts"
import { openworkflowSqlite } from "./adapters/openworkflow-sqlite-peer.ts"
import { perdurePostgres } from "./adapters/perdure-postgres-peer.ts"
import { perdureSqlite } from "./adapters/perdure-sqlite-peer.ts"
import { restate } from "./adapters/restate-peer.ts"

/** Perdure, which is always measured. All engines are compared with the first one, and engines on PostgreSQL also with the second one, on the same server. */
export const ours: readonly PeerDescription[] = [perdureSqlite, perdurePostgres]

export const peers: readonly PeerDescription[] = [...ours, dbos, openworkflowSqlite, openworkflowPostgres, absurd, restate]
