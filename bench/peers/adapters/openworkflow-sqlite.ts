import { join } from "node:path"
import { BackendSqlite } from "openworkflow/sqlite"
import type { OpenPeer } from "../adapter.ts"
import { openworkflowSqlite } from "./openworkflow-sqlite-peer.ts"
import { openworkflowPeer } from "./openworkflow-workflows.ts"

// SQLite is FULL where nobody says otherwise, and OpenWorkflow does not.
export const open: OpenPeer = ({ folder }) => openworkflowPeer(BackendSqlite.connect(join(folder, "bench.db")), openworkflowSqlite.settings)
