// One server for all test files of the project "postgres": that of DATABASE_URL, or one of our own. With POOLER_URL, which leads to the same
// database through a pooler in transaction mode, the stores of most tests go through that.

import type { TestProject } from "vitest/node"
import { PostgresServer } from "./server.ts"

declare module "vitest" {
  interface ProvidedContext {
    readonly databaseUrl: string
    readonly poolerUrl: string | undefined
  }
}

let server: PostgresServer | undefined

export async function setup(project: TestProject): Promise<void> {
  const given = process.env["DATABASE_URL"]
  project.provide("poolerUrl", process.env["POOLER_URL"])
  if (given !== undefined) return project.provide("databaseUrl", given)
  server = await PostgresServer.start(["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=300", "shared_buffers=64MB"])
  project.provide("databaseUrl", server.url)
}

export async function teardown(): Promise<void> {
  await server?.stop()
}
