import { inject } from "vitest"

/** The server that the test file has to itself while it runs, or shares with those before and after it. */
export function fileServerUrl(): string {
  const urls = inject("databaseUrls")
  const place = Number(process.env["VITEST_POOL_ID"] ?? 1)
  const url = urls[place % urls.length]
  if (url === undefined) throw new Error("no PostgreSQL was started for the tests")
  return url
}
