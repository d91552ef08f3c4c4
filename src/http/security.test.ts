import { createHttpApp, type AuthorizeCall, type HttpAppOptions, serve } from "perdure/http"
import { type Context, PerdureError, workflow } from "perdure"
import { createTestEngine } from "perdure/testing"
import { describe, expect, it } from "vitest"

const idle = workflow("idle", async (ctx: Context) => ctx.sleep("a", "1h"))
const other = workflow("other", async (ctx: Context) => ctx.sleep("a", "1h"))

async function open(options: HttpAppOptions) {
  const engine = await createTestEngine({ workflows: [idle, other] })
  const app = createHttpApp(engine.current, options)
  return {
    engine,
    request: (path: string, init?: RequestInit) => app.request(`http://localhost:8787${path}`, init),
    status: async (path: string, init?: RequestInit) => (await app.request(`http://localhost:8787${path}`, init)).status,
    [Symbol.asyncDispose]: () => engine.close(),
  }
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const start = (type = "idle", headers: Record<string, string> = {}) => ({ method: "POST", body: JSON.stringify({ type, id: `${type}-1` }), headers })

describe("tokens", () => {
  it("are needed for everything but health", async () => {
    await using api = await open({ token: ["first-token", "second-token"] })
    for (const path of ["/", "/workflows", "/openapi.json", "/stream", "/schedules", "/workflows/a"]) expect(await api.status(path)).toBe(401)
    expect(await api.status("/workflows", start())).toBe(401)
    for (const path of ["/healthz", "/readyz"]) expect(await api.status(path)).toBe(200)
    for (const token of ["first-token", "second-token"]) expect(await api.status("/workflows", bearer(token))).toBe(200)
  })

  it("that are wrong, almost right or in another form are refused with what to send", async () => {
    await using api = await open({ token: "first-token" })
    const wrong = ["first-toke", "first-token2", "", "FIRST-TOKEN", "x".repeat(10_000), "first-token first-token"]
    for (const token of wrong) expect(await api.status("/workflows", bearer(token))).toBe(401)
    expect(await api.status("/workflows", { headers: { authorization: "first-token" } })).toBe(401)
    expect(await api.status("/workflows", { headers: { authorization: "Basic first-token" } })).toBe(401)
    expect(await api.status("/workflows", { headers: { authorization: "bearer first-token" } })).toBe(200)
    const response = await api.request("/workflows")
    expect(response.headers.get("www-authenticate")).toBe("Bearer")
    expect(await response.json()).toMatchObject({ error: { code: "UNAUTHORIZED" } })
  })

  it.each([[""], [[]], [["a", ""]]])("%j is none", async (token) => {
    await expect(open({ token })).rejects.toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  })
})

describe("the authorize hook", () => {
  it("is told what is about to be done, to which workflow and instance", async () => {
    const calls: Omit<AuthorizeCall, "request">[] = []
    await using api = await open({
      tick: false,
      authorize: ({ request: _, ...call }) => {
        calls.push(call)
      },
    })
    const asked = async (method: string, path: string, body?: unknown) => {
      calls.length = 0
      await api.request(path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
      return calls.slice()
    }
    expect(await asked("POST", "/workflows", { type: "idle", id: "a" })).toEqual([{ action: "create", workflow: "idle" }])
    expect(await asked("GET", "/workflows")).toEqual([{ action: "read" }])
    expect(await asked("GET", "/workflows/a")).toEqual([{ action: "read", workflow: "idle", id: "a" }])
    expect(await asked("GET", "/workflows/none")).toEqual([{ action: "read", id: "none" }])
    expect(await asked("POST", "/workflows/a/resume")).toEqual([{ action: "manage", workflow: "idle", id: "a" }])
    expect(await asked("POST", "/workflows/a/events/x")).toEqual([{ action: "sendEvent", workflow: "idle", id: "a" }])
    expect(await asked("POST", "/workflows/a/queries/x")).toEqual([{ action: "query", workflow: "idle", id: "a" }])
    expect(await asked("POST", "/workflows/a/updates/x")).toEqual([{ action: "update", workflow: "idle", id: "a" }])
    expect(await asked("DELETE", "/workflows/idle/instances/a")).toEqual([{ action: "delete", workflow: "idle", id: "a" }])
    expect(await asked("POST", "/queues/far/claim", { worker: "w", activities: ["a"] })).toEqual([{ action: "work", queue: "far" }])
    expect(await asked("POST", "/tasks/t/complete", { token: "t" })).toEqual([{ action: "work" }])
    expect(await asked("GET", "/queues")).toEqual([{ action: "read" }])
    expect(await asked("POST", "/runner/tick")).toEqual([{ action: "tick" }])
    expect(await asked("GET", "/healthz")).toEqual([])
    expect(await asked("POST", "/workflows/batch", { instances: [{ type: "idle" }, { type: "other" }, { type: "idle" }] })).toEqual([
      { action: "create", workflow: "idle" },
      { action: "create", workflow: "other" },
    ])
    expect(await asked("PUT", "/workflows/a/events/x", { start: { type: "other" } })).toEqual([
      { action: "create", workflow: "other", id: "a" },
      { action: "create", workflow: "idle", id: "a" },
      { action: "sendEvent", workflow: "other", id: "a" },
      { action: "sendEvent", workflow: "idle", id: "a" },
    ])
    expect(await asked("POST", "/schedules", { id: "s", type: "idle", every: "1h" })).toEqual([{ action: "schedule", workflow: "idle" }])
    expect(await asked("DELETE", "/schedules/s")).toEqual([{ action: "schedule", workflow: "idle", id: "s" }])
    expect(await asked("PUT", "/limits/idle", { concurrency: 1 })).toEqual([{ action: "manage", workflow: "idle" }])
  })

  it("blocks with a Response, which is the answer, before anything is done or said about the request", async () => {
    await using api = await open({ authorize: async () => Promise.resolve(Response.json({ no: true }, { status: 418 })) })
    for (const init of [start(), { method: "POST", body: "{" }, { method: "POST", body: `{"typo":1}` }]) {
      const response = await api.request("/workflows", init)
      expect([response.status, await response.json(), response.headers.get("x-content-type-options")]).toEqual([418, { no: true }, "nosniff"])
    }
    expect(await api.status("/workflows/none")).toBe(418)
    expect((await api.engine.list()).instances).toEqual([])
  })

  it("that allows one workflow keeps the others out, by every address", async () => {
    const authorize = ({ workflow: name }: AuthorizeCall) => (name === "idle" ? undefined : new Response(null, { status: 403 }))
    await using api = await open({ authorize })
    await api.engine.start(other, { id: "o" })
    expect(await api.status("/workflows", start("idle"))).toBe(201)
    expect(await api.status("/workflows", start("other"))).toBe(403)
    expect(await api.status("/workflows/batch", { method: "POST", body: `{"instances":[{"type":"idle"},{"type":"other"}]}` })).toBe(403)
    expect(await api.status("/workflows/o")).toBe(403)
    expect(await api.status("/workflows/idle/instances/o")).toBe(404)
    expect(await api.status("/workflows/o/events/x", { method: "PUT", body: `{"start":{"type":"idle"}}` })).toBe(403)
    expect(await api.status("/instances")).toBe(403)
  })

  it("that fails lets nobody in", async () => {
    const authorize = () => {
      throw new Error("the directory does not answer")
    }
    await using api = await open({ authorize, log: { error: () => undefined } })
    expect(await api.status("/workflows")).toBe(500)
  })
})

describe("pages of other origins", () => {
  const from = (origin: string, init: RequestInit = {}) => ({ ...init, headers: { origin } })

  it("change nothing and open no streams", async () => {
    await using api = await open({})
    for (const origin of ["https://evil.example", "http://localhost:3000", "null", "http://localhost:8787.evil.example"]) {
      expect(await api.status("/workflows", from(origin, start()))).toBe(403)
      expect(await api.status("/stream", from(origin))).toBe(403)
      expect(await api.status("/workflows/a", from(origin, { method: "DELETE" }))).toBe(403)
      const readable = await api.request("/workflows", from(origin))
      expect(readable.headers.get("access-control-allow-origin")).toBeNull()
    }
    for (const site of ["cross-site", "same-site"]) expect(await api.status("/workflows", start("idle", { "sec-fetch-site": site }))).toBe(403)
    expect((await api.engine.list()).instances).toEqual([])
    expect(await api.status("/workflows", from("http://localhost:8787", start()))).toBe(201)
    expect(await api.status("/workflows", start("other", { "sec-fetch-site": "same-origin" }))).toBe(201)
  })

  it("may where the option cors says so, with a preflight", async () => {
    await using api = await open({ cors: ["https://app.example"] })
    const allowed = await api.request("/workflows", from("https://app.example", start()))
    expect([allowed.status, allowed.headers.get("access-control-allow-origin"), allowed.headers.get("vary")]).toEqual([
      201,
      "https://app.example",
      "Accept, Origin",
    ])
    const preflight = await api.request("/workflows", from("https://app.example", { method: "OPTIONS" }))
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get("access-control-allow-methods")).toContain("POST")
    expect(preflight.headers.get("access-control-allow-headers")).toContain("Authorization")
    expect(preflight.headers.get("access-control-allow-credentials")).toBeNull()
    const foreign = await api.request("/workflows", from("https://evil.example", { method: "OPTIONS" }))
    expect(foreign.headers.get("access-control-allow-origin")).toBeNull()
    expect(await api.status("/workflows", from("https://evil.example", start("other")))).toBe(403)
    const failure = await api.request("/workflows/none", from("https://app.example"))
    expect([failure.status, failure.headers.get("access-control-allow-origin")]).toEqual([404, "https://app.example"])
  })

  it("may all with cors: *", async () => {
    await using api = await open({ cors: "*" })
    expect(await api.status("/workflows", from("https://anywhere.example", start()))).toBe(201)
  })
})

describe("hosts", () => {
  it("other than those allowed are not answered, whatever is asked for", async () => {
    await using api = await open({ allowedHosts: ["localhost:8787"] })
    for (const host of ["evil.example:8787", "localhost", "localhost:80", "127.0.0.1:8787"])
      for (const path of ["/", "/healthz", "/nothing", "/workflows/a/pause"]) expect(await api.status(path, { headers: { host } })).toBe(403)
    expect(await api.status("/", { headers: { host: "LOCALHOST:8787" } })).toBe(200)
    expect(await api.status("/")).toBe(200)
  })
})

describe("every answer", () => {
  it("tells browsers to take it for nothing but data", async () => {
    await using api = await open({})
    for (const [path, init] of [
      ["/"],
      ["/nothing"],
      ["/workflows", { method: "PATCH" }],
      ["/workflows", { method: "POST", body: "{" }],
      ["/workflows/a"],
    ] as const) {
      const { headers } = await api.request(path, init)
      expect(headers.get("content-type")).toBe("application/json")
      expect(headers.get("x-content-type-options")).toBe("nosniff")
      expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'")
      expect(headers.get("cache-control")).toBe("no-store")
    }
  })
})

describe("ticks", () => {
  it("are refused unless they are enabled", async () => {
    await using api = await open({})
    expect(await api.status("/runner/tick", { method: "POST" })).toBe(403)
  })
})

describe("serve", () => {
  it.each(["0.0.0.0", "::", "192.168.1.5", "example.com", "127.0.0.1.example.com", "1270.0.0.1"])("does not listen on %s without a guard", async (host) => {
    const engine = await createTestEngine({ workflows: [idle] })
    await expect(serve(engine.current, { host, port: 0 })).rejects.toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
    await engine.close()
  })

  it.each([{ token: "0123456789abcdef" }, { token: "a", insecure: true }, { authorize: () => undefined }, { insecure: true }])(
    "listens everywhere with %o",
    async (guard) => {
      const engine = await createTestEngine({ workflows: [idle] })
      const server = await serve(engine.current, { host: "0.0.0.0", port: 0, ...guard })
      expect(server.port).toBeGreaterThan(0)
      await server.close()
      await engine.close()
    },
  )

  it.each([{ token: "0123456789abcde" }, { token: ["0123456789abcdef", "a"] }, { token: "short", authorize: () => undefined }])(
    "does not listen everywhere with a token that can be guessed: %o",
    async (guard) => {
      const engine = await createTestEngine({ workflows: [idle] })
      const refused = expect.objectContaining({ code: "BAD_OPTION", message: expect.stringContaining("at least 16 random characters") as string })
      await expect(serve(engine.current, { host: "0.0.0.0", port: 0, ...guard })).rejects.toThrow(refused)
      await using server = await serve(engine.current, { port: 0, ...guard })
      expect((await fetch(`${server.url}/workflows`)).status).toBe(401)
      await server.close()
      await engine.close()
    },
  )

  it("on loopback answers to the names of loopback with its port, and to no other", async () => {
    const engine = await createTestEngine({ workflows: [idle] })
    await using server = await serve(engine.current, { port: 0 })
    const { request } = await import("node:http")
    const statusFor = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        request({ port: server.port, host: "127.0.0.1", path: "/", headers: { host } }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
          .on("error", reject)
          .end()
      })
    for (const name of ["localhost", "127.0.0.1", "[::1]"]) expect(await statusFor(`${name}:${server.port}`)).toBe(200)
    for (const host of ["evil.example", `evil.example:${server.port}`, "localhost", "localhost:1"]) expect(await statusFor(host)).toBe(403)
    await server.close()
    await engine.close()
  })

  it("leaves the platform's own classes in their place", async () => {
    const before = [globalThis.Request, globalThis.Response]
    const engine = await createTestEngine({ workflows: [idle] })
    const server = await serve(engine.current, { port: 0 })
    expect([globalThis.Request, globalThis.Response]).toEqual(before)
    expect((await fetch(`${server.url}/workflows`, { method: "HEAD" })).status).toBe(200)
    await server.close()
    expect([globalThis.Request, globalThis.Response]).toEqual(before)
    await engine.close()
  })

  it.each([{ token: "" }, { heartbeat: "soon" as never }])("says what is wrong with an option before it listens: %j", async (options) => {
    const engine = await createTestEngine({ workflows: [idle] })
    await expect(serve(engine.current, { port: 0, ...options })).rejects.toThrow(PerdureError)
    await engine.close()
  })

  it("says that a port is taken", async () => {
    const engine = await createTestEngine({ workflows: [idle] })
    await using first = await serve(engine.current, { port: 0 })
    await expect(serve(engine.current, { port: first.port })).rejects.toThrow(
      expect.objectContaining({ code: "ADDRESS_IN_USE", message: expect.stringContaining(`port ${first.port}`) as string }),
    )
    await first.close()
    await engine.close()
  })

  it("refuses a body that is too large over a connection, and goes on", async () => {
    const engine = await createTestEngine({ workflows: [idle] })
    await using server = await serve(engine.current, { port: 0, bodyBytesMax: 10_000 })
    const post = (body: string | ReadableStream, more: object = {}) => fetch(`${server.url}/workflows`, { method: "POST", body, ...more })
    const large = JSON.stringify({ type: "idle", payload: "x".repeat(1_000_000) })
    const response = await post(large)
    expect([response.status, await response.json()]).toMatchObject([413, { error: { code: "PAYLOAD_TOO_LARGE" } }])
    const streamed = await post(new Blob([large]).stream(), { duplex: "half" })
    expect(streamed.status).toBe(413)
    expect((await post(JSON.stringify({ type: "idle", id: "a" }))).status).toBe(201)
    await server.close()
    await engine.close()
  })
})

describe("options", () => {
  it("that are very long do not overflow timers, and need no limit", async () => {
    const engine = await createTestEngine({ workflows: [idle] })
    await using server = await serve(engine.current, { port: 0, bodyTimeout: "300d", heartbeat: "300d", bodyBytesMax: Infinity })
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode('{"type":"idle",'))
        await new Promise((resolve) => setImmediate(resolve))
        controller.enqueue(new TextEncoder().encode('"id":"slow"}'))
        controller.close()
      },
    })
    const response = await fetch(`${server.url}/workflows`, { method: "POST", body, duplex: "half" })
    expect(response.status).toBe(201)
    await engine.close()
  })

  it.each([0, -1, NaN, "9"])("bodyBytesMax %s is refused", async (bodyBytesMax) => {
    await expect(open({ bodyBytesMax: bodyBytesMax as number })).rejects.toThrow(/^bodyBytesMax is .*; give a number of bytes/)
  })
})
