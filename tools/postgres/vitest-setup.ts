// One server for all test files of the project "postgres": that of DATABASE_URL, or one of our own.

import type { TestProject } from "vitest/node"
import { PostgresServer } from "./server.ts"

declare module "vitest" {
  interface ProvidedContext {
    readonly databaseUrl: string
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env["DATABASE_URL"]
  if (given !== undefined) {
    project.provide("databaseUrl", given)
    return undefined
  }
  const server = await PostgresServer.start(["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200", "shared_buffers=64MB"])
  project.provide("databaseUrl", server.url)
  return () => server.stop()
}
