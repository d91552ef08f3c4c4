import { type Client, PerdureError } from "perdure"
import { createHttpApp } from "perdure/http"
import { describe, expect, it } from "vitest"
import { error, openHttpApi } from "../../test/http-api.ts"
import { overriding } from "../engine/method-overrides.ts"
import { richType } from "./wire-format.ts"

describe("the rest of the API", () => {
  it("history is paged, in both directions", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "greet", id: "a", payload: { name: "Ada" } })
    const all = async (order: string) => {
      const types: string[] = []
      let cursor: string | undefined = ""
      while (cursor !== undefined) {
        const [, page] = (await api.json("GET", `/workflows/a/history?limit=2&order=${order}&cursor=${cursor}`)) as [
          number,
          { entries: { type: string }[]; cursor?: string },
        ]
        types.push(...page.entries.map(({ type }) => type))
        cursor = page.cursor
      }
      return types
    }
    const oldest = await all("oldest")
    expect(oldest).toEqual(["run.started", "step.started", "step.completed", "sleep.started"])
    expect(await all("newest")).toEqual(oldest.toReversed())
    expect(await api.json("GET", "/workflows/a/history?run=2")).toEqual([200, { entries: [] }])
    expect(await api.json("GET", "/workflows/a/history?cursor=x")).toMatchObject([400, error("BAD_OPTION")])
  })

  it("why says what an instance waits for", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    expect(await api.json("GET", "/workflows/a/why")).toMatchObject([200, { status: "waiting", because: [expect.stringContaining("stop")] }])
  })

  it("a batch answers each id on its own, at most 1,000", async () => {
    await using api = await openHttpApi()
    const instances = [
      { type: "counter", id: "a", payload: 1 },
      { type: "none", id: "b" },
      { type: "counter", id: "/", payload: 1 },
    ]
    expect(await api.json("POST", "/workflows/batch", { instances })).toMatchObject([
      200,
      {
        instances: [
          { id: "a", created: true },
          { id: "b", created: false, error: { code: "UNKNOWN_WORKFLOW" } },
          { id: "/", created: false, error: { code: "BAD_ID" } },
        ],
      },
    ])
    expect(await api.json("POST", "/workflows/counter/instances/batch", { instances: [{ id: "c" }] })).toMatchObject([
      200,
      { instances: [{ id: "c", created: true }] },
    ])
    const many = Array.from({ length: 1_001 }, () => ({ type: "counter" }))
    expect(await api.json("POST", "/workflows/batch", { instances: many })).toMatchObject([400, error("BAD_REQUEST")])
  })

  it("the long form has the same handlers, and a 404 where instance and workflow do not belong together", async () => {
    await using api = await openHttpApi()
    expect(await api.json("POST", "/workflows/counter/instances", { id: "a", payload: 1 })).toMatchObject([201, { id: "a", type: "counter" }])
    expect(await api.json("GET", "/workflows/counter/instances")).toMatchObject([200, { type: "counter", instances: [{ id: "a" }] }])
    expect(await api.json("GET", "/workflows/counter/instances/a")).toMatchObject([200, { id: "a" }])
    expect(await api.json("GET", "/workflows/counter/instances/a/history")).toMatchObject([200, { entries: [{ type: "run.started" }, {}] }])
    expect(await api.json("POST", "/workflows/counter/instances/a/events", { type: "note", payload: 1 })).toEqual([
      200,
      { id: "a", event: "note", status: "delivered" },
    ])
    for (const control of ["pause", "resume", "restart", "terminate"]) {
      expect(await api.json("POST", `/workflows/greet/instances/a/${control}`)).toMatchObject([404, error("NOT_FOUND")])
      expect(await api.json("POST", `/workflows/counter/instances/a/${control}`)).toMatchObject([200, { id: "a" }])
    }
    expect(await api.json("DELETE", "/workflows/greet/instances/a")).toMatchObject([404, error("NOT_FOUND")])
    expect(await api.json("DELETE", "/workflows/counter/instances/a")).toEqual([204, undefined])
  })

  it("schedules are created, listed, changed, paused, triggered, backfilled and deleted", async () => {
    await using api = await openHttpApi()
    const [status, schedule] = await api.json("POST", "/schedules", { id: "s", type: "counter", every: "1h", payload: 1, paused: true })
    expect([status, schedule]).toMatchObject([201, { id: "s", type: "counter", payload: 1, everyMs: 3_600_000, status: "paused" }])
    expect(await api.json("POST", "/schedules", { id: "s", type: "counter", every: "1h" })).toMatchObject([409, error("SCHEDULE_EXISTS")])
    expect(await api.json("POST", "/schedules", { id: "t", type: "counter", cron: "nonsense" })).toMatchObject([400, error("BAD_SCHEDULE")])
    expect(await api.json("GET", "/schedules")).toMatchObject([200, { schedules: [{ id: "s", type: "counter" }] }])
    expect(await api.json("GET", "/schedules/s")).toMatchObject([200, { id: "s", status: "paused" }])
    expect(await api.json("PATCH", "/schedules/s", { every: "2h", timeout: "1d" })).toMatchObject([200, { everyMs: 7_200_000, timeoutMs: 86_400_000 }])
    expect(await api.json("PATCH", "/schedules/s", { timeout: null })).toMatchObject([200, expect.not.objectContaining({ timeoutMs: 86_400_000 })])
    expect(await api.json("POST", "/schedules/s/resume")).toEqual([200, { id: "s" }])
    expect(await api.json("POST", "/schedules/s/resume")).toMatchObject([200, { id: "s", accepted: false }])
    expect(await api.json("POST", "/schedules/s/pause", { reason: "later" })).toEqual([200, { id: "s" }])
    const [, triggered] = (await api.json("POST", "/schedules/s/trigger", { payload: 9 })) as [number, { id: string }]
    expect(triggered).toMatchObject({ type: "counter" })
    expect(await api.json("GET", `/workflows/${triggered.id}`)).toMatchObject([200, { payload: 9 }])
    await api.engine.skip("1d")
    const now = api.engine.now()
    expect(await api.json("POST", "/schedules/s/backfill", { from: now - 20_000_000, to: now, overlap: "allow" })).toMatchObject([
      200,
      { firings: expect.arrayContaining([expect.objectContaining({ outcome: "started" })]) as unknown },
    ])
    expect(await api.json("DELETE", "/schedules/s")).toEqual([204, undefined])
    expect(await api.json("GET", "/schedules/s")).toMatchObject([404, error("SCHEDULE_NOT_FOUND")])
  })

  it("limits are read, set and reset", async () => {
    await using api = await openHttpApi()
    expect(await api.json("GET", "/limits/limited")).toEqual([200, { type: "limited", concurrency: [{ limit: 2 }] }])
    expect(await api.json("PUT", "/limits/limited", { concurrency: "Infinity" })).toEqual([
      200,
      { type: "limited", concurrency: [{ limit: "Infinity", declared: 2 }] },
    ])
    expect(await api.rich("PUT", "/limits/limited", { concurrency: [5] })).toEqual([200, { type: "limited", concurrency: [{ limit: 5, declared: 2 }] }])
    expect(await api.json("GET", "/limits")).toMatchObject([200, { limits: [{}, {}, {}, { type: "limited" }] }])
    expect(await api.json("DELETE", "/limits/limited")).toEqual([204, undefined])
    expect(await api.json("PUT", "/limits/counter", { concurrency: 1 })).toMatchObject([404, error("UNKNOWN_LIMIT")])
    expect(await api.json("PUT", "/limits/limited", {})).toMatchObject([400, error("BAD_OPTION")])
  })

  it("says that it is alive, and whether its store is", async () => {
    await using api = await openHttpApi()
    expect(await api.json("GET", "/healthz")).toEqual([200, { status: "ok" }])
    expect(await api.json("GET", "/readyz")).toEqual([200, { status: "ok" }])
    const app = createHttpApp(api.engine.current, { log: { error: (message) => void api.logged.push(message) } })
    await api.engine.close()
    const unready = await app.request("/readyz")
    expect(unready.status).toBe(503)
    expect(await unready.json()).toMatchObject(error("STORE_FAILED"))
    const closed = await app.request("/workflows/a")
    expect([closed.status, closed.headers.get("retry-after")]).toEqual([503, "1"])
    expect(await closed.json()).toMatchObject(error("ENGINE_CLOSED"))
    expect(api.logged).toHaveLength(2)
  })
})

describe("what is wrong with a request is said", () => {
  it("in the status and a body of one form", async () => {
    await using api = await openHttpApi({ bodyBytesMax: 1_000 })
    const app = createHttpApp(api.engine.current, { bodyBytesMax: 1_000 })
    const send = async (body: string, headers: Record<string, string> = {}) => {
      const response = await app.request("/workflows", { method: "POST", body, headers })
      return [response.status, await response.json()]
    }
    expect(await send("{")).toMatchObject([400, error("BAD_JSON")])
    expect(await send("")).toMatchObject([400, error("BAD_REQUEST")])
    expect(await send("[]")).toMatchObject([400, error("BAD_REQUEST")])
    expect(await send(`{"type":"counter","typo":1}`)).toMatchObject([400, { error: { details: { issues: [{ path: "typo" }] } } }])
    expect(await send(`{"rich":[]}`, { "content-type": richType })).toMatchObject([400, error("BAD_JSON")])
    expect(await send(JSON.stringify({ type: "x".repeat(2_000) }))).toMatchObject([413, error("PAYLOAD_TOO_LARGE")])
    expect(await send(JSON.stringify({ type: "x" }), { "content-length": "2000" })).toMatchObject([413, error("PAYLOAD_TOO_LARGE")])
    expect(await api.json("GET", "/nothing")).toMatchObject([404, error("UNKNOWN_ROUTE")])
    expect(await api.json("GET", "/metrics")).toMatchObject([404, error("UNKNOWN_ROUTE")])
    expect(await api.json("GET", "/workflows/%E0%A4%A")).toMatchObject([404, error("NOT_FOUND")])
  })

  it("another method than those of a path is refused with the list of them", async () => {
    await using api = await openHttpApi()
    const wrong = await api.call("PATCH", "/workflows")
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, POST, HEAD, OPTIONS"])
    expect(await wrong.json()).toMatchObject(error("METHOD_NOT_ALLOWED"))
    const options = await api.call("OPTIONS", "/workflows/a/pause")
    expect([options.status, options.headers.get("allow")]).toEqual([204, "POST, OPTIONS"])
    const head = await api.call("HEAD", "/workflows")
    expect([head.status, await head.text()]).toEqual([200, ""])
    expect((await api.call("OPTIONS", "/nothing")).status).toBe(404)
  })

  it("an instance that is called as a fixed path is can be reached by other methods, and by the long form", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "failing", id: "counts" })
    expect(await api.json("GET", "/workflows/failing/instances/counts")).toMatchObject([200, { id: "counts" }])
    expect(await api.json("DELETE", "/workflows/counts")).toEqual([204, undefined])
  })

  it("a fault of the server is answered without a word about its inside, and logged under an id", async () => {
    await using api = await openHttpApi()
    const broken = overriding(api.engine.current as Client, { describe: () => Promise.reject(new Error("secret of /home/me")) })
    const logged: [string, unknown][] = []
    const app = createHttpApp(broken, {
      log: {
        error: (message, details) => {
          logged.push([message, details])
          throw new Error("the log fails, too")
        },
      },
    })
    const response = await app.request("/workflows/a")
    expect(response.status).toBe(500)
    const text = await response.text()
    expect(text).not.toMatch(/secret|\\n|\.ts/)
    const { error: body } = JSON.parse(text) as { error: { code: string; details: { id: string } } }
    expect(body.code).toBe("INTERNAL_ERROR")
    expect(logged).toEqual([[`GET /workflows/a failed (${body.details.id})`, { id: body.details.id, error: expect.any(Error) as Error }]])
  })

  it("an error keeps its code and its message, also where its details are too large for plain JSON", async () => {
    await using api = await openHttpApi()
    const rows = Array.from({ length: 100 }, () => "x".repeat(1_000_000))
    const broken = overriding(api.engine.current as Client, { describe: () => Promise.reject(new PerdureError("BAD_OPTION", "no", { details: { rows } })) })
    const response = await createHttpApp(broken).request("/workflows/a")
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: { code: "BAD_OPTION", message: "no", details: { $perdure: "tooLarge", accept: richType } } })
  })

  it("an error of Perdure keeps its code, and has no stack", async () => {
    await using api = await openHttpApi()
    const broken = overriding(api.engine.current as Client, { describe: () => Promise.reject(new PerdureError("STORE_FAILED", "no answer")) })
    const response = await createHttpApp(broken, { log: { error: () => undefined } }).request("/workflows/a")
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({
      error: { code: "STORE_FAILED", message: "the database failed at this request", details: { id: expect.any(String) as string } },
    })
  })
})
