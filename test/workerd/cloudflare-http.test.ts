import { env } from "cloudflare:workers"
import { createWorkerApp } from "perdure/cloudflare"
import * as vitest from "vitest"
import { describeDialectHttp } from "../cloudflare-http-cases.ts"

const app = createWorkerApp({ binding: "DIALECT_RUNNER" })
const host = { fetch: (request: Request) => app.fetch(request, env as object), close: async () => undefined }

// This folder has another version of vitest.
describeDialectHttp("Durable Objects", async () => host, vitest as unknown as Parameters<typeof describeDialectHttp>[2])
