// Provides servers for the test files of the project "postgres": the servers of DATABASE_URL, separated by spaces, or new servers, one for each file that runs
// at a time. Files that shared a server would disturb each other: an open transaction delays the change streams of all databases on its server.
// POOLER_URL leads to the same database through a pooler in transaction mode, and the stores of most tests then use it.

import type { TestProject } from "vitest/node"
import { PostgresServer } from "./server.ts"

declare module "vitest" {
  interface ProvidedContext {
    readonly databaseUrls: readonly string[]
    readonly poolerUrl: string | undefined
  }
}

const settings = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=300", "shared_buffers=64MB"]
let servers: readonly PostgresServer[] = []

export async function setup(project: TestProject): Promise<void> {
  const given = process.env["DATABASE_URL"]
  project.provide("poolerUrl", process.env["POOLER_URL"])
  if (given !== undefined) return project.provide("databaseUrls", given.split(" "))
  servers = await Promise.all(Array.from({ length: project.config.maxWorkers }, () => PostgresServer.start(settings)))
  project.provide(
    "databaseUrls",
    servers.map(({ url }) => url),
  )
}

export async function teardown(): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()))
}
