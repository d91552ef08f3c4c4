import { existsSync } from "node:fs"
import type { PeerDescription } from "../adapter.ts"

/** Where the tables are that its npm package leaves out. */
export const schemaVariable = "ABSURD_SQL"

const howToGetIt =
  `its tables are no part of its npm package: take sql/absurd.sql of release 0.5.0 from the repository earendil-works/absurd on GitHub, ` +
  `and put the path of the file into ${schemaVariable}`

export const absurd = {
  id: "absurd",
  name: "Absurd, Postgres",
  packages: ["absurd-sdk", "pg"],
  needs: "postgres",
  settings: { poolMax: 50, concurrency: 100, batchSize: 100, pollIntervalMs: 5, claimTimeoutSeconds: 120, resultPollMs: 5 },
  remarks: [
    `its tables come from sql/absurd.sql of the same release, by ${schemaVariable}`,
    "its own way to await a result polls ever more slowly; here the result is asked for every `resultPollMs`, for a few tasks at a time",
  ],
  hindrance() {
    const path = process.env[schemaVariable]
    if (path === undefined || path === "") return `${schemaVariable} is not set; ${howToGetIt}`
    return existsSync(path) ? undefined : `${schemaVariable} names a file that is not there; ${howToGetIt}`
  },
} as const satisfies PeerDescription
