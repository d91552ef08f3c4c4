import type { PeerDescription } from "../adapter.ts"

export const perdureSqlite = {
  id: "perdure-sqlite",
  name: "Perdure, SQLite",
  packages: [],
  settings: { journalMode: "WAL", synchronous: "FULL" },
  remarks: ["all defaults"],
} as const satisfies PeerDescription
