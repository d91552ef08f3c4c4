import { createHttpApp } from "perdure/http"
import { openWorkflows } from "perdure/cloudflare-workflows"
import { sqlite } from "perdure/sqlite"
import * as vitest from "vitest"
import { silentLogger } from "../src/hosts/silent-logger.ts"
import { describeDialectHttp, sources } from "./cloudflare-http-cases.ts"

const { describe, expect, it } = vitest

describeDialectHttp(
  "SQLite",
  async () => {
    const { engine } = await openWorkflows({ store: sqlite(":memory:"), workflows: sources, log: silentLogger })
    const app = createHttpApp(engine)
    return { fetch: async (request) => app.fetch(request), close: () => engine.close() }
  },
  vitest,
)

describe("?dialect=cloudflare", () => {
  it("shows authorize the native id and the workflow", async () => {
    const { engine } = await openWorkflows({ store: sqlite(":memory:"), workflows: sources, log: silentLogger })
    const asked: unknown[] = []
    const app = createHttpApp(engine, {
      authorize: ({ action, workflow, id }) => {
        asked.push([action, workflow, id])
        return new Response(null, { status: 403 })
      },
    })
    expect((await app.request("/workflows/parcel/instances/a/pause?dialect=cloudflare", { method: "POST" })).status).toBe(403)
    expect(asked).toEqual([["manage", "parcel", "parcel:a"]])
    await engine.close()
  })

  it("is a parameter of the route that ticks, too, and the OpenAPI document describes it", async () => {
    const { engine } = await openWorkflows({ store: sqlite(":memory:"), workflows: sources, log: silentLogger, execute: "ticks" })
    const app = createHttpApp(engine, { tick: true })
    const tick = async (dialect: string) => (await app.request(`/runner/tick?dialect=${dialect}`, { method: "POST" })).status
    expect([await tick("cloudflare"), await tick("temporal")]).toEqual([200, 400])
    const { paths } = (await (await app.request("/openapi.json")).json()) as { paths: Record<string, Record<string, { parameters?: { name: string }[] }>> }
    const withDialect = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { parameters = [] }]) => (parameters.some(({ name }) => name === "dialect") ? `${method} ${path}` : [])),
    )
    const one = "/workflows/{workflow}/instances/{id}"
    const controls = ["pause", "resume", "cancel", "terminate", "restart", "fork", "events"].map((name) => `post ${one}/${name}`)
    const others = ["get /workflows/{workflow}/instances", "post /workflows/{workflow}/instances", "post /workflows/{workflow}/instances/batch"]
    expect(withDialect.sort()).toEqual([...controls, ...others, `get ${one}`, `delete ${one}`, `get ${one}/history`, "post /runner/tick"].sort())
    await engine.close()
  })
})
