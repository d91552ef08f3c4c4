// The PostgreSQL that a run measures: an own server with its default, durable settings, or the one of DATABASE_URL. All tables are in a database
// that is dropped after the run.

import { Client } from "pg"
import { PostgresServer } from "../tools/postgres/server.ts"
import { urlVariable } from "./postgres-place.ts"

export interface MeasuredPostgres extends AsyncDisposable {
  readonly url: string
  readonly description: string
}

/** Starts a server for the run. A signal or the end of the process stops the server too. */
export async function startPostgres(folder: string | undefined): Promise<MeasuredPostgres> {
  const given = process.env["DATABASE_URL"]
  if (given !== undefined) return { url: given, description: `the PostgreSQL ${await versionOf(given)} of DATABASE_URL`, [Symbol.asyncDispose]: async () => {} }
  const server = await PostgresServer.start([], undefined, folder)
  const endNow = () => server.endNow()
  process.once("exit", endNow)
  return {
    url: server.url,
    description: `PostgreSQL ${await versionOf(server.url)} with its stock settings: fsync and synchronous_commit on`,
    async [Symbol.asyncDispose]() {
      process.off("exit", endNow)
      await server.stop()
    },
  }
}

const name = "perdure_bench"
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** Provides PostgreSQL for the targets of a run, whose processes find it in their environment. */
export async function postgresFor(folder: string | undefined): Promise<MeasuredPostgres> {
  const onSignal = () => process.exit(130)
  for (const signal of signals) process.on(signal, onSignal)
  const server = await startPostgres(folder)
  const drop = () => execute(server.url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  await drop()
  await execute(server.url, `CREATE DATABASE ${name}`)
  const url = new URL(server.url)
  url.pathname = `/${name}`
  process.env[urlVariable] = url.href
  return {
    url: url.href,
    description: server.description,
    async [Symbol.asyncDispose]() {
      delete process.env[urlVariable]
      await drop()
      await server[Symbol.asyncDispose]()
      for (const signal of signals) process.off(signal, onSignal)
    },
  }
}

const versionOf = async (url: string) => (await execute(url, "SHOW server_version"))["server_version"] ?? "of an unknown version"

async function execute(url: string, sql: string): Promise<Readonly<Record<string, string>>> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, string>>(sql)).rows[0] ?? {}
  } finally {
    await client.end()
  }
}
