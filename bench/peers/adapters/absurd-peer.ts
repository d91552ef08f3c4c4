import type { PeerDescription } from "../adapter.ts"

export const absurd = {
  id: "absurd",
  name: "Absurd, Postgres",
  packages: ["absurd-sdk", "pg"],
  needs: "postgres",
  settings: { poolMax: 20, concurrency: 50, batchSize: 50, pollIntervalMs: 10, claimTimeoutSeconds: 120, resultPollMs: 10 },
  remarks: [
    "its tables are no part of its npm package: the path of sql/absurd.sql of the same release goes into ABSURD_SQL",
    "its own way to await a result polls ever more slowly; here the result is asked for every `resultPollMs`, for a few tasks at a time",
  ],
} as const satisfies PeerDescription
