import type { PeerDescription } from "../adapter.ts"
import { openworkflowRemarks } from "./openworkflow-remarks.ts"

export const openworkflowPostgres = {
  id: "openworkflow-postgres",
  name: "OpenWorkflow, Postgres",
  packages: ["openworkflow", "postgres"],
  needs: "postgres",
  settings: { concurrency: 100, resultPollMs: 10, poolMax: 20 },
  remarks: openworkflowRemarks,
} as const satisfies PeerDescription
