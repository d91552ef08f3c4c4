import type { PeerDescription } from "../adapter.ts"

export const dbos = {
  id: "dbos",
  name: "DBOS, Postgres",
  packages: ["@dbos-inc/dbos-sdk", "pg"],
  needs: "postgres",
  settings: { systemDatabasePoolSize: 20, useListenNotify: true, tracingEnabled: false },
  remarks: [
    "workflows are started directly, without a queue, which is its fastest way",
    "results are awaited in the process that runs the workflow, without polling",
  ],
} as const satisfies PeerDescription
