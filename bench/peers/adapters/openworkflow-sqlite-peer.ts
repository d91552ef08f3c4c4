import type { PeerDescription } from "../adapter.ts"
import { openworkflowRemarks } from "./openworkflow-remarks.ts"

export const openworkflowSqlite = {
  id: "openworkflow-sqlite",
  name: "OpenWorkflow, SQLite",
  packages: ["openworkflow"],
  settings: { concurrency: 100, resultPollMs: 10, journalMode: "WAL", synchronous: "FULL" },
  remarks: openworkflowRemarks,
} as const satisfies PeerDescription
