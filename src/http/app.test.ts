import { createHttpApp, type HttpAppOptions } from "perdure/http"
import { createTestEngine, type TestEngine } from "perdure/testing"
import { type Client, type Context, PerdureError, workflow } from "perdure"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { overriding } from "../testing/overriding.ts"
import { richType, decodeRich, encodeRich } from "./wire.ts"

const greet = workflow("greet", { input: z.object({ name: z.string() }) }, async (ctx: Context<{ approval: { approved: boolean } }>, input) => {
  const greeting = await ctx.do("greet", () => `Hello, ${input.name}!`)
  await ctx.sleep("pause", "5s")
  const { approved } = await ctx.waitForEvent("approval", { timeout: "1m", default: { approved: false } })
  return { message: `${input.name} was ${approved ? "approved" : "not approved"}`, greeting }
})

const counter = workflow("counter", async (ctx: Context<{ stop: undefined }>, start: number) => {
  let total = start
  ctx.setQueryHandler("total", (factor: number = 1) => total * factor)
  ctx.setQueryHandler("broken", () => {
    throw new TypeError("it is broken")
  })
  ctx.setUpdateHandler("add", (by: number) => {
    if (by < 0) throw new RangeError("only up")
    total += by
    return total
  })
  await ctx.waitForEvent("stop")
  return new Map([["total", total]])
})

const failing = workflow("failing", async () => {
  throw Object.assign(new RangeError("out of range", { cause: new Error("inner") }), { limit: 3 })
})

const limited = workflow("limited", { concurrency: { limit: 2 } }, async (ctx: Context) => ctx.sleep("a", "1h"))

const workflows = [greet, counter, failing, limited]

class Api {
  readonly engine: TestEngine
  readonly logged: string[] = []
  readonly #app: ReturnType<typeof createHttpApp>

  constructor(engine: TestEngine, options: HttpAppOptions = {}) {
    this.engine = engine
    this.#app = createHttpApp(engine.current, { log: { error: (message) => void this.logged.push(message) }, ...options })
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await this.#app.request(path, { method, headers: { "content-type": "application/json", ...headers }, ...init })
    await this.engine.settle()
    return response
  }

  /** The status and the body. */
  async json(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<[number, unknown]> {
    const response = await this.call(method, path, body, headers)
    const text = await response.text()
    return [response.status, text === "" ? undefined : JSON.parse(text)]
  }

  async rich(method: string, path: string, body?: unknown): Promise<[number, unknown]> {
    const init = body === undefined ? {} : { body: encodeRich(body) }
    const response = await this.#app.request(path, { method, headers: { "content-type": richType, accept: richType }, ...init })
    await this.engine.settle()
    const type = response.headers.get("content-type")
    return [response.status, type === richType ? decodeRich(await response.text()) : await response.json()]
  }
}

async function open(options?: HttpAppOptions): Promise<Api & AsyncDisposable> {
  const engine = await createTestEngine({ workflows })
  return Object.assign(new Api(engine, options), { [Symbol.asyncDispose]: () => engine.close() })
}

const error = (code: string) => ({ error: expect.objectContaining({ code }) as unknown })

describe("a workflow over HTTP", () => {
  it("is started, watched, sent an event, and gives its result", async () => {
    await using api = await open()
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
    await using api = await open()
    expect(await api.json("POST", "/workflows", { type: "none" })).toMatchObject([400, error("UNKNOWN_WORKFLOW")])
    expect(await api.json("POST", "/workflows", { type: "greet", payload: { name: 1 } })).toMatchObject([
      400,
      { error: { code: "INVALID_INPUT", details: { issues: [{ path: "name" }] } } },
    ])
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    expect(await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })).toMatchObject([409, error("ID_EXISTS")])
    expect(await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1, ifExists: "return" })).toMatchObject([201, { id: "a" }])
    expect(await api.json("POST", "/workflows", { type: "counter", id: "/", payload: 1 })).toMatchObject([400, error("BAD_ID")])
  })

  it("keeps rich values for those who speak the rich form", async () => {
    await using api = await open()
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
    await using api = await open()
    await api.json("POST", "/workflows", { type: "failing", id: "a" })
    const [status, body] = await api.json("GET", "/workflows/a/result?wait=30s")
    expect(status).toBe(409)
    expect(body).toEqual({
      error: { code: "INSTANCE_FAILED", message: "out of range" },
      status: "failed",
      failure: { name: "RangeError", message: "out of range", limit: 3, cause: { name: "Error", message: "inner" } },
    })
    const [, rich] = await api.rich("GET", "/workflows/a/result")
    expect((rich as { failure: unknown }).failure).toBeInstanceOf(RangeError)
  })

  it("is waited for, but not longer than asked", async () => {
    await using api = await open()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    const late = api.call("GET", "/workflows/a/result?wait=2s")
    await api.engine.skip("2s")
    expect((await late).status).toBe(202)
    const soon = api.call("GET", "/workflows/a/result?wait=1h")
    await api.call("POST", "/workflows/a/events/stop")
    expect((await soon).status).toBe(200)
  })

  it("is no longer waited for when the caller goes away", async () => {
    await using api = await open()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    const app = createHttpApp(api.engine.current)
    const gone = new AbortController()
    const waiting = app.request(new Request("http://localhost/workflows/a/result?wait=1m", { signal: gone.signal }))
    await api.engine.settle()
    gone.abort()
    expect((await waiting).status).toBe(499)
    expect(api.logged).toEqual([])
  })
})

describe("lists", () => {
  it("name the workflows, each with its newest instances", async () => {
    await using api = await open()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    const [, { workflows: listed }] = (await api.json("GET", "/workflows")) as [number, { workflows: { name: string }[] }]
    expect(listed.map(({ name }) => name)).toEqual(["greet", "counter", "failing", "limited"])
    expect(listed[1]).toMatchObject({ name: "counter", type: "counter", version: "1", versions: ["1"], instances: [{ id: "a", status: "waiting" }] })
    expect(await api.json("GET", "/")).toEqual([200, { status: "ok", workflows: ["greet", "counter", "failing", "limited"] }])
  })

  it("are paged by a cursor", async () => {
    await using api = await open()
    for (const id of ["a", "b", "c"]) await api.json("POST", "/workflows", { type: "counter", id, payload: 1, tags: [`tag-${id}`] })
    const [, first] = (await api.json("GET", "/workflows?type=counter&limit=2&order=oldest")) as [number, { cursor: string }]
    expect(first).toMatchObject({ instances: [{ id: "a" }, { id: "b" }], hasNextPage: true })
    const [, second] = await api.json("GET", `/workflows?type=counter&limit=2&order=oldest&cursor=${first.cursor}`)
    expect(second).toMatchObject({ instances: [{ id: "c" }], hasNextPage: false })
    expect(await api.json("GET", "/instances?tag=tag-b")).toMatchObject([200, { instances: [{ id: "b", tags: ["tag-b"] }] }])
    expect(await api.json("GET", "/workflows?cursor=abc")).toMatchObject([400, error("BAD_OPTION")])
  })

  it("and counts take filters", async () => {
    await using api = await open()
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
    await using api = await open()
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
    await using api = await open()
    await api.json("POST", "/workflows", { type: "failing", id: "a" })
    for (const control of ["pause", "cancel", "terminate"]) {
      expect(await api.json("POST", `/workflows/a/${control}`)).toMatchObject([
        409,
        { error: { code: "CONTROL_REFUSED", details: { id: "a", status: "failed" } } },
      ])
    }
    expect(await api.json("POST", "/workflows/a/resume")).toMatchObject([200, { id: "a", status: "failed", accepted: false }])
    expect(await api.json("POST", "/workflows/a/restart")).toEqual([200, { id: "a", status: "running" }])
    expect(await api.json("GET", "/workflows/a")).toMatchObject([200, { run: 2, status: "failed" }])
    expect(await api.json("POST", "/workflows/a/restart", { from: "no such step" })).toMatchObject([400, error("UNKNOWN_STEP")])
    expect(await api.json("POST", "/workflows/a/fork", { id: "b" })).toMatchObject([200, { id: "b" }])
    expect(await api.json("POST", "/workflows/a/fork")).toMatchObject([200, { id: expect.any(String) as string }])
    expect(await api.json("POST", "/workflows/a/events/stop")).toMatchObject([409, error("INSTANCE_ENDED")])
    expect(await api.json("DELETE", "/workflows/a")).toEqual([204, undefined])
    expect(await api.json("GET", "/workflows/a")).toMatchObject([404, error("NOT_FOUND")])
  })

  it("terminate at once, and delete only what has ended", async () => {
    await using api = await open()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    expect(await api.json("DELETE", "/workflows/a")).toMatchObject([409, error("NOT_ENDED")])
    expect(await api.json("POST", "/workflows/a/terminate", { reason: "enough" })).toEqual([200, { id: "a", status: "terminated" }])
  })
})

describe("events, queries and updates", () => {
  it("an event with an id counts once, wherever the id stands", async () => {
    await using api = await open()
    await api.json("POST", "/workflows", { type: "greet", id: "a", payload: { name: "Ada" } })
    await api.call("POST", "/workflows/a/events/approval", { approved: true }, { "Event-Id": "e" })
    await api.call("POST", "/workflows/a/events/approval", { approved: false }, { eventId: "e" })
    await api.call("POST", "/workflows/a/events/approval?eventId=e", { approved: false })
    await api.call("POST", "/workflows/greet/instances/a/events", { type: "approval", payload: { approved: false }, eventId: "e" })
    const [, { entries }] = (await api.json("GET", "/workflows/a/history")) as [number, { entries: { type: string }[] }]
    expect(entries.filter(({ type }) => type === "event.received")).toHaveLength(1)
  })

  it("send-or-start starts what is not there, once", async () => {
    await using api = await open()
    const body = { payload: 1, start: { type: "counter", payload: 3 } }
    expect(await api.json("PUT", "/workflows/a/events/note", body)).toEqual([200, { id: "a", event: "note", status: "delivered" }])
    expect(await api.json("PUT", "/workflows/a/events/stop", body)).toMatchObject([200, { status: "delivered" }])
    expect(await api.json("GET", "/workflows/a/result")).toEqual([200, [["total", 3]]])
    expect(await api.json("PUT", "/workflows/a/events/stop", body)).toMatchObject([409, error("INSTANCE_ENDED")])
    expect(await api.json("PUT", "/workflows/b/events/stop", { start: { type: "none" } })).toMatchObject([400, error("UNKNOWN_WORKFLOW")])
  })

  it("queries and updates take arguments and give the answer", async () => {
    await using api = await open()
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
    await using api = await open()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 2 })
    await api.json("POST", "/workflows/a/pause")
    expect(await api.json("POST", "/workflows/a/updates/add?wait=1ms", [5])).toEqual([202, { id: "a", status: "paused" }])
    await api.json("POST", "/workflows/a/resume")
    expect(await api.json("POST", "/workflows/a/queries/total")).toEqual([200, 7])
  })
})

describe("the rest of the API", () => {
  it("history is paged, in both directions", async () => {
    await using api = await open()
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
    await using api = await open()
    await api.json("POST", "/workflows", { type: "counter", id: "a", payload: 1 })
    expect(await api.json("GET", "/workflows/a/why")).toMatchObject([200, { status: "waiting", because: [expect.stringContaining("stop")] }])
  })

  it("a batch answers each id on its own, at most 1,000", async () => {
    await using api = await open()
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
    await using api = await open()
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
    await using api = await open()
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
    await using api = await open()
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
    await using api = await open()
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
    await using api = await open({ bodyBytesMax: 1_000 })
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
    await using api = await open()
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
    await using api = await open()
    await api.json("POST", "/workflows", { type: "failing", id: "counts" })
    expect(await api.json("GET", "/workflows/failing/instances/counts")).toMatchObject([200, { id: "counts" }])
    expect(await api.json("DELETE", "/workflows/counts")).toEqual([204, undefined])
  })

  it("a fault of the server is answered without a word about its inside, and logged under an id", async () => {
    await using api = await open()
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

  it("an error of Perdure keeps its code, and has no stack", async () => {
    await using api = await open()
    const broken = overriding(api.engine.current as Client, { describe: () => Promise.reject(new PerdureError("STORE_FAILED", "no answer")) })
    const response = await createHttpApp(broken, { log: { error: () => undefined } }).request("/workflows/a")
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({ error: { code: "STORE_FAILED", message: "no answer", details: { id: expect.any(String) as string } } })
  })
})
