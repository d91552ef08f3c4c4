import { createHttpApp } from "perdure/http"
import { describe, expect, it } from "vitest"
import { error, openHttpApi } from "../../test/http-api.ts"

describe("a workflow over HTTP", () => {
  it("is started, watched, sent an event, and gives its result", async () => {
    await using api = await openHttpApi()
    expect(await api.json("POST", "/workflows", { type: "greet", id: "a", payload: { name: "World" } })).toEqual([
      201,
      { id: "a", type: "greet", status: "running" },
    ])
    const [, sleeping] = await api.json("GET", "/workflows/a")
    expect(sleeping).toMatchObject({ id: "a", type: "greet", version: "1", run: 1, status: "sleeping", payload: { name: "World" } })
    expect(sleeping).toMatchObject({
      steps: [
        { name: "greet", status: "completed", result: "Hello, World!", attempts: 1 },
        { name: "pause", status: "sleeping" },
      ],
    })
    await api.engine.skip("5s")
    expect(await api.json("GET", "/workflows/a/result")).toEqual([202, { id: "a", status: "waiting" }])
    expect(await api.json("POST", "/workflows/a/events/approval", { approved: true })).toEqual([200, { id: "a", event: "approval", status: "delivered" }])
    const result = { message: "World was approved", greeting: "Hello, World!" }
    expect(await api.json("GET", "/workflows/a")).toMatchObject([200, { status: "completed", result }])
    expect(await api.json("GET", "/workflows/a/result")).toEqual([200, result])
    expect(await api.json("GET", "/workflows?type=greet")).toMatchObject([200, { type: "greet", instances: [{ id: "a", type: "greet" }], hasNextPage: false }])
  })

  it("is refused with the reason: unknown type, bad payload, taken id, bad id", async () => {
    await using api = await openHttpApi()
    expect(await api.json("POST", "/workflows", { type: "none" })).toMatchObject([400, error("UNKNOWN_WORKFLOW")])
    expect(await api.json("POST", "/workflows", { type: "greet", version: "9", payload: { name: "Ada" } })).toMatchObject([400, error("UNKNOWN_WORKFLOW")])
    expect(await api.json("POST", "/workflows", { type: "greet", version: "9", allowUnknown: true })).toMatchObject([201, { status: "queued" }])
    expect(await api.json("POST", "/workflows", { type: "greet", payload: { name: 1 } })).toMatchObject([
      400,
      { error: { code: "INVALID_INPUT", details: { issues: [{ path: "name" }] } } },
    ])
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    expect(await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })).toMatchObject([409, error("ID_EXISTS")])
    expect(await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1, ifExists: "return" })).toMatchObject([
      200,
      { id: "a", status: "waiting" },
    ])
    expect(await api.json("POST", "/workflows", { type: "counter", id: "new", payload: 1, ifExists: "return" })).toMatchObject([201, { id: "new" }])
    const again = { type: "counter", id: "again", payload: 1, ifExists: "return", requestId: "0123456789abcdef" }
    expect(await api.json("POST", "/workflows", again)).toMatchObject([201, { id: "again" }])
    expect(await api.json("POST", "/workflows", again)).toMatchObject([201, { id: "again" }])
    expect(await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1, delay: -5 })).toMatchObject([
      400,
      { error: { code: "BAD_REQUEST", details: { issues: [{ path: "delay", message: "must be at least 0" }] } } },
    ])
    expect(await api.json("POST", "/workflows", { type: "counter", id: "/", payload: 1 })).toMatchObject([400, error("BAD_ID")])
  })

  it("keeps rich values for those who speak the rich form", async () => {
    await using api = await openHttpApi()
    const at = new Date(api.engine.now() + 86_400_000)
    expect(await api.rich("POST", "/workflows", { type: "counter", id: "a", payload: 5, startAt: at })).toEqual([
      201,
      { id: "a", type: "counter", status: "queued" },
    ])
    await api.engine.skip("1d")
    expect(await api.rich("POST", "/workflows/a/events/stop", undefined)).toMatchObject([200, { status: "delivered" }])
    expect(await api.rich("GET", "/workflows/a/result")).toEqual([200, new Map([["total", 5]])])
    expect(await api.json("GET", "/workflows/a/result")).toEqual([200, [["total", 5]]])
  })

  it("that failed has no result, but its own error", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "failing", id: "a" })
    const [status, body] = await api.json("GET", "/workflows/a/result?wait=30s")
    expect(status).toBe(409)
    expect(body).toEqual({
      error: { code: "INSTANCE_FAILED", message: "out of range" },
      status: "failed",
      failure: {
        name: "RangeError",
        message: "out of range",
        stack: expect.stringMatching(/^RangeError: out of range\n {4}at \S+ \(.*http-api\.ts:\d+:\d+\)$/) as string,
        limit: 3,
        cause: { name: "Error", message: "inner", stack: expect.stringMatching(/^Error: inner\n {4}at .*http-api\.ts:\d+:\d+\)$/) as string },
      },
    })
    const [, rich] = await api.rich("GET", "/workflows/a/result")
    expect((rich as { failure: unknown }).failure).toBeInstanceOf(RangeError)
  })

  it("is waited for, but not longer than asked", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    const late = api.call("GET", "/workflows/a/result?wait=2s")
    await api.engine.skip("2s")
    expect((await late).status).toBe(202)
    const soon = api.call("GET", "/workflows/a/result?wait=1h")
    await api.call("POST", "/workflows/a/events/stop")
    expect((await soon).status).toBe(200)
  })

  it("is no longer waited for when the caller goes away", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    const app = createHttpApp(api.engine.current)
    const gone = new AbortController()
    const waiting = app.request(new Request("http://localhost/workflows/a/result?wait=1m", { signal: gone.signal }))
    await api.engine.settle()
    gone.abort()
    expect((await waiting).status).toBe(202)
    expect(api.logged).toEqual([])
  })
})

describe("lists", () => {
  it("name the workflows, each with its newest instances", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    const [, { workflows: listed }] = (await api.json("GET", "/workflows")) as [number, { workflows: { name: string }[] }]
    expect(listed.map(({ name }) => name)).toEqual(["greet", "counter", "failing", "limited"])
    expect(listed[1]).toMatchObject({ name: "counter", type: "counter", version: "1", versions: ["1"], instances: [{ id: "a", status: "waiting" }] })
    expect(await api.json("GET", "/")).toEqual([200, { status: "ok", workflows: ["greet", "counter", "failing", "limited"] }])
  })

  it("are paged by a cursor", async () => {
    await using api = await openHttpApi()
    for (const id of ["a", "b", "c"]) await api.json("POST", "/workflows", { type: "counter", id, payload: 1, tags: [`tag-${id}`] })
    const [, first] = (await api.json("GET", "/workflows?type=counter&limit=2&order=oldest")) as [number, { cursor: string }]
    expect(first).toMatchObject({ instances: [{ id: "a" }, { id: "b" }], hasNextPage: true })
    const [, second] = await api.json("GET", `/workflows?type=counter&limit=2&order=oldest&cursor=${first.cursor}`)
    expect(second).toMatchObject({ instances: [{ id: "c" }], hasNextPage: false })
    expect(await api.json("GET", "/instances?tag=tag-b")).toMatchObject([200, { instances: [{ id: "b", tags: ["tag-b"] }] }])
    expect(await api.json("GET", "/workflows?cursor=abc")).toMatchObject([400, error("BAD_OPTION")])
  })

  it("and counts take filters", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    await api.json("POST", "/workflows", { type: "failing", id: "f" })
    expect(await api.json("GET", "/instances?status=failed,completed")).toMatchObject([200, { instances: [{ id: "f" }] }])
    expect(await api.json("GET", "/instances?status=failed&status=waiting&order=oldest")).toMatchObject([200, { instances: [{ id: "a" }, { id: "f" }] }])
    expect(await api.json("GET", "/workflows/counts")).toEqual([200, { byStatus: { waiting: 1, failed: 1 }, byWorkflow: { counter: 1, failing: 1 }, total: 2 }])
    expect(await api.json("GET", "/workflows/counts?type=failing")).toMatchObject([200, { total: 1 }])
    expect(await api.json("GET", "/instances?since=2037-01-01")).toEqual([200, { instances: [] }])
    expect(await api.json("GET", "/instances?since=never")).toMatchObject([400, error("BAD_OPTION")])
    expect(await api.json("GET", "/instances?status=odd")).toMatchObject([400, error("BAD_REQUEST")])
    expect(await api.json("GET", "/instances?staus=failed")).toMatchObject([400, { error: { details: { issues: [{ path: "staus" }] } } }])
  })
})

describe("controls", () => {
  it("answer with the status when they are accepted", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    expect(await api.json("POST", "/workflows/a/pause", { reason: "lunch" })).toMatchObject([200, { id: "a", status: "waiting" }])
    expect(await api.json("GET", "/workflows/a")).toMatchObject([200, { status: "paused" }])
    expect(await api.json("POST", "/workflows/a/pause")).toMatchObject([200, { accepted: false, status: "paused" }])
    expect(await api.json("POST", "/workflows/a/resume")).toMatchObject([200, { id: "a" }])
    expect(await api.json("POST", "/workflows/a/resume")).toMatchObject([200, { accepted: false, status: "waiting" }])
    expect(await api.json("POST", "/workflows/a/cancel")).toMatchObject([200, { id: "a" }])
    expect(await api.json("GET", "/workflows/a/result")).toMatchObject([409, { ...error("INSTANCE_CANCELLED"), status: "cancelled" }])
  })

  it("of an instance that is over are refused, except those that begin anew", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "failing", id: "a" })
    for (const control of ["pause", "cancel", "terminate"]) {
      expect(await api.json("POST", `/workflows/a/${control}`)).toMatchObject([
        409,
        { error: { code: "CONTROL_REFUSED", details: { id: "a", status: "failed" } } },
      ])
    }
    expect(await api.json("POST", "/workflows/a/resume")).toMatchObject([200, { id: "a", status: "failed", accepted: false }])
    expect(await api.json("POST", "/workflows/a/restart")).toEqual([200, { id: "a", status: "queued" }])
    expect(await api.json("GET", "/workflows/a")).toMatchObject([200, { run: 2, status: "failed" }])
    expect(await api.json("POST", "/workflows/a/restart", { from: "no such step" })).toMatchObject([400, error("UNKNOWN_STEP")])
    expect(await api.json("POST", "/workflows/a/fork", { id: "b" })).toMatchObject([200, { id: "b" }])
    expect(await api.json("POST", "/workflows/a/fork")).toMatchObject([200, { id: expect.any(String) as string }])
    expect(await api.json("POST", "/workflows/a/events/stop")).toMatchObject([409, error("INSTANCE_ENDED")])
    expect(await api.json("DELETE", "/workflows/a")).toEqual([204, undefined])
    expect(await api.json("GET", "/workflows/a")).toMatchObject([404, error("NOT_FOUND")])
  })

  it("terminate at once, and delete only what has ended", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    expect(await api.json("DELETE", "/workflows/a")).toMatchObject([409, error("NOT_ENDED")])
    expect(await api.json("POST", "/workflows/a/terminate", { reason: "enough" })).toEqual([200, { id: "a", status: "terminated" }])
  })
})

describe("events, queries and updates", () => {
  it("an event with an id counts once, wherever the id stands", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "greet", id: "a", payload: { name: "Ada" } })
    await api.call("POST", "/workflows/a/events/approval", { approved: true }, { "Event-Id": "e" })
    await api.call("POST", "/workflows/a/events/approval", { approved: false }, { eventId: "e" })
    await api.call("POST", "/workflows/a/events/approval?eventId=e", { approved: false })
    await api.call("POST", "/workflows/greet/instances/a/events", { type: "approval", payload: { approved: false }, eventId: "e" })
    const [, { entries }] = (await api.json("GET", "/workflows/a/history")) as [number, { entries: { type: string }[] }]
    expect(entries.filter(({ type }) => type === "event.received")).toHaveLength(1)
  })

  it("send-or-start starts what is not there, once", async () => {
    await using api = await openHttpApi()
    const body = { payload: 1, start: { type: "counter", payload: 3 } }
    expect(await api.json("PUT", "/workflows/a/events/note", body)).toEqual([200, { id: "a", event: "note", status: "delivered" }])
    expect(await api.json("PUT", "/workflows/a/events/stop", body)).toMatchObject([200, { status: "delivered" }])
    expect(await api.json("GET", "/workflows/a/result")).toEqual([200, [["total", 3]]])
    expect(await api.json("PUT", "/workflows/a/events/stop", body)).toMatchObject([409, error("INSTANCE_ENDED")])
    expect(await api.json("PUT", "/workflows/b/events/stop", { start: { type: "none" } })).toMatchObject([400, error("UNKNOWN_WORKFLOW")])
  })

  it("queries and updates take arguments and give the answer", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 2 })
    expect(await api.json("POST", "/workflows/a/queries/total")).toEqual([200, 2])
    expect(await api.json("POST", "/workflows/a/queries/total", [10])).toEqual([200, 20])
    expect(await api.json("POST", "/workflows/a/updates/add", 5)).toEqual([200, 7])
    expect(await api.json("POST", "/workflows/a/queries/none")).toMatchObject([404, error("UNKNOWN_QUERY")])
    expect(await api.json("POST", "/workflows/a/updates/none")).toMatchObject([404, error("UNKNOWN_UPDATE")])
    expect(await api.json("POST", "/workflows/none/queries/total")).toMatchObject([404, error("NOT_FOUND")])
    expect(await api.json("POST", "/workflows/a/queries/broken")).toMatchObject([422, { ...error("HANDLER_FAILED"), failure: { name: "TypeError" } }])
    const [status, body] = await api.rich("POST", "/workflows/a/updates/add", [-1])
    expect(status).toBe(422)
    expect((body as { failure: unknown }).failure).toBeInstanceOf(RangeError)
  })
})

describe("an update to an instance that is paused", () => {
  it("is accepted, and not waited for longer than asked", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 2 })
    await api.json("POST", "/workflows/a/pause")
    expect(await api.json("POST", "/workflows/a/updates/add?wait=1ms", [5])).toEqual([202, { id: "a", status: "paused" }])
    await api.json("POST", "/workflows/a/resume")
    expect(await api.json("POST", "/workflows/a/queries/total")).toEqual([200, 7])
  })

  it("is not made at all if it says in no right way how long to wait", async () => {
    await using api = await openHttpApi()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 2 })
    expect(await api.json("POST", "/workflows/a/updates/add?wait=long", [5])).toMatchObject([400, error("BAD_DURATION")])
    expect(await api.json("POST", "/workflows/a/queries/total")).toEqual([200, 2])
  })
})
