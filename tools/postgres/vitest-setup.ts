// Servers for the test files of the project "postgres": those of DATABASE_URL, separated by spaces, or of our own, one for each file that runs at a time. Files that shared
// one would be in each other's way: an open transaction holds back whoever follows changes, in every database of its server. With
// POOLER_URL, which leads to the same database through a pooler in transaction mode, the stores of most tests go through that.

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
