// The same suite on every client: the embedded engine, one that another process' engine executes for, and one over HTTP.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Perdure } from "perdure"
import { connect } from "perdure/client"
import { serve } from "perdure/http"
import { sqlite } from "perdure/sqlite"
import { memory } from "perdure/testing"
import { afterAll } from "vitest"
import { silentLogger } from "../src/hosts/silent-logger.ts"
import { describeClient } from "../src/testing/client-conformance/describe-client.ts"

const folder = mkdtempSync(join(tmpdir(), "perdure-clients-"))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newFile = () => join(folder, `${++files}.db`)
const open = (path: string) => sqlite(path, { durability: "process", pollInterval: 2 })

describeClient("an engine on memory", async (workflows) => {
  const client = await Perdure.open({ store: memory(), workflows, log: silentLogger })
  return { client, close: () => client.close() }
})

describeClient("an engine on SQLite", async (workflows) => {
  const client = await Perdure.open({ store: open(newFile()), workflows, log: silentLogger })
  return { client, close: () => client.close() }
})

describeClient("an engine that another executes for", async (workflows) => {
  const path = newFile()
  const worker = await Perdure.open({ store: open(path), workflows, log: silentLogger })
  const client = await Perdure.open({ store: open(path), workflows, log: silentLogger, role: "client" })
  const close = async () => {
    await client.close()
    await worker.close()
  }
  return { client, close }
})

describeClient("a connection over HTTP", async (workflows) => {
  const engine = await Perdure.open({ store: memory(), workflows, log: silentLogger })
  const server = await serve(engine, { port: 0, token: "secret", log: silentLogger })
  const client = connect(server.url, { token: "secret", retryFor: "2s" })
  const close = async () => {
    await client.close()
    await server.close()
    await engine.close()
  }
  return { client, close }
})
