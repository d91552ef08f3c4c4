// The suite of every client, with engines on PostgreSQL: a worker, a client of a worker, and a client over HTTP before each of them.

import { type Engine, Perdure } from "perdure"
import { connect } from "perdure/client"
import { serve } from "perdure/http"
import { afterAll, afterEach } from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import type { AnyWorkflow } from "../../src/core/workflow/workflow.ts"
import { describeClient } from "../../src/testing/client-conformance/describe-client.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"

const database = new TestDatabase(4)
afterEach(() => database.reset())
afterAll(() => database.drop())

/** A worker, and a client as in another process. Sweeps are off: notifications have to tell of everything. */
async function openBoth(workflows: readonly AnyWorkflow[]): Promise<{ worker: Engine; client: Engine }> {
  const schema = await database.emptySchema()
  const worker = await Perdure.open({ store: database.ownStore(schema), workflows, log: silentLogger, sweep: "1h" })
  const client = await Perdure.open({ store: database.ownStore(schema), workflows, log: silentLogger, role: "client", sweep: "1h" })
  return { worker, client }
}

describeClient("an engine on PostgreSQL", async (workflows) => {
  const client = await Perdure.open({ store: database.ownStore(await database.emptySchema()), workflows, log: silentLogger, sweep: "1h" })
  return { client, close: () => client.close() }
})

describeClient("an engine on PostgreSQL that another executes for", async (workflows) => {
  const { worker, client } = await openBoth(workflows)
  const close = async () => {
    await client.close()
    await worker.close()
  }
  return { client, close }
})

describeClient("a connection over HTTP to an engine on PostgreSQL that another executes for", async (workflows) => {
  const { worker, client: behind } = await openBoth(workflows)
  const server = await serve(behind, { port: 0, token: "secret", log: silentLogger })
  const client = connect(server.url, { token: "secret", retryFor: "2s" })
  const close = async () => {
    await client.close()
    await server.close()
    await behind.close()
    await worker.close()
  }
  return { client, close }
})
