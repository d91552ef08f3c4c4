import { inject } from "vitest"

/** The server of the test file. Test files that run at the same time have different servers. */
export function fileServerUrl(): string {
  const urls = inject("databaseUrls")
  const place = Number(process.env["VITEST_POOL_ID"] ?? 1)
  const url = urls[place % urls.length]
  if (url === undefined) throw new Error("no PostgreSQL was started for the tests")
  return url
}
