import { createHttpApp } from "perdure/http"
import { openWorkflows } from "perdure/cloudflare-workflows"
import * as vitest from "vitest"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { TestDatabase } from "../../tools/postgres/test-database.ts"
import { describeDialectHttp, sources } from "../cloudflare-http-cases.ts"

const database = new TestDatabase()
vitest.afterAll(() => database.drop())

describeDialectHttp(
  "PostgreSQL",
  async () => {
    const store = database.ownStore(await database.emptySchema())
    const { engine } = await openWorkflows({ store, workflows: sources, log: silentLogger })
    const app = createHttpApp(engine)
    return { fetch: async (request) => app.fetch(request), close: () => engine.close() }
  },
  vitest,
)
