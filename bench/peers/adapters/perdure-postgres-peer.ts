import type { PeerDescription } from "../adapter.ts"

export const perdurePostgres = {
  id: "perdure-postgres",
  name: "Perdure, Postgres",
  packages: [],
  needs: "postgres",
  settings: { maxConnections: 10 },
  remarks: ["all defaults"],
} as const satisfies PeerDescription
