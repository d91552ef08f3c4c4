// A database of its own on the shared server: for tests of what works on a whole database, such as the command line.

import { randomBytes } from "node:crypto"
import pg from "pg"
import { fileServerUrl } from "./file-server.ts"

export class EmptyDatabase {
  readonly url: string
  readonly #name = `database_${randomBytes(6).toString("hex")}`

  constructor() {
    const url = new URL(fileServerUrl())
    url.pathname = `/${this.#name}`
    this.url = url.href
  }

  async create(): Promise<void> {
    await onServer(`CREATE DATABASE ${this.#name}`)
  }

  async drop(): Promise<void> {
    await onServer(`DROP DATABASE IF EXISTS ${this.#name} WITH (FORCE)`)
  }

  async query(sql: string): Promise<Record<string, unknown>[]> {
    return send(this.url, sql)
  }
}

const onServer = (sql: string) => send(fileServerUrl(), sql)

async function send(connectionString: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}
