import { type Context, workflow } from "perdure"
import { connect } from "perdure/client"
import { createHttpApp } from "perdure/http"
import { createTestEngine } from "perdure/testing"
import { expect, it } from "vitest"
import { error, HttpApi } from "../../test/http-api.ts"

// What a worker in another language sends and gets. The calls of `client.tasks` are in the conformance suite of clients.

const order = workflow("order", async (ctx: Context, items: unknown) =>
  ctx.activity("reserve", { input: items, taskQueue: "warehouse", heartbeatTimeout: "10s", retry: { maxAttempts: 3, initialInterval: 0 } }),
)
const failure = workflow("failure", (ctx: Context) => ctx.activity("reserve", { taskQueue: "warehouse" }))
const claim = { worker: "curl-1", activities: ["reserve"] }

async function open() {
  const engine = await createTestEngine({ workflows: [order, failure], lease: "30s" })
  const api = new HttpApi(engine)
  const claimed = async (): Promise<{ id: string; token: string }> => {
    const [status, { tasks }] = (await api.json("POST", "/queues/warehouse/claim", claim)) as [number, { tasks: { id: string; token: string }[] }]
    expect([status, tasks.length]).toEqual([200, 1])
    return tasks[0]!
  }
  return Object.assign(api, { claimed, [Symbol.asyncDispose]: () => engine.close() })
}

it("a worker claims an activity, reports how far it is, and completes it", async () => {
  await using api = await open()
  const handle = await api.engine.start(order, { id: "o", input: ["lamp"] })
  await api.engine.settle()
  expect(await api.json("GET", "/queues")).toEqual([
    200,
    { queues: [{ queue: "warehouse", waiting: 1, claimed: 0, oldestAt: expect.any(Number) as number, workers: [] }] },
  ])
  expect(await api.json("GET", "/workflows/o/why")).toMatchObject([200, { because: ['activity "reserve" waits on queue "warehouse", which nobody serves'] }])
  const task = await api.claimed()
  expect(task).toEqual({
    id: expect.any(String) as string,
    token: expect.any(String) as string,
    activity: "reserve",
    queue: "warehouse",
    attempt: 1,
    input: ["lamp"],
    instance: "o",
    step: "reserve",
    idempotencyKey: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    leaseMs: 30_000,
    heartbeatTimeoutMs: 10_000,
  })
  const { id, token } = task
  expect(await api.json("GET", "/queues")).toEqual([
    200,
    { queues: [{ queue: "warehouse", waiting: 0, claimed: 1, workers: [{ worker: "curl-1", activities: ["reserve"] }] }] },
  ])
  for (let second = 0; second < 40; second += 5) {
    await api.engine.skip("5s")
    expect(await api.json("POST", `/tasks/${id}/heartbeat`, { token, details: { second } })).toEqual([200, { id, status: "claimed" }])
  }
  expect(await api.json("POST", `/tasks/${id}/complete`, { token, result: { reserved: 1 } })).toEqual([200, { id, status: "completed" }])
  expect(await handle.result()).toEqual({ reserved: 1 })
})

it("a stale token is answered with 409, and changes nothing", async () => {
  await using api = await open()
  const handle = await api.engine.start(order, { id: "o", input: [] })
  await api.engine.settle()
  const { id, token } = await api.claimed()
  await api.json("POST", `/tasks/${id}/heartbeat`, { token, details: "half" })
  await api.engine.skip("11s")
  for (const what of ["heartbeat", "complete", "fail"])
    expect(await api.json("POST", `/tasks/${id}/${what}`, { token })).toMatchObject([409, error("STALE_TASK")])
  const next = await api.claimed()
  expect(next).toMatchObject({ attempt: 2, lastHeartbeat: "half" })
  expect(await api.json("POST", `/tasks/${next.id}/complete`, { token })).toMatchObject([409, error("STALE_TASK")])
  expect(await handle.status()).toBe("waiting")
})

it.each([
  ["out of stock", { name: "Error", message: "out of stock" }],
  [
    { name: "StockError", message: "out of stock", left: 0, stack: "of the worker" },
    { name: "StockError", message: "out of stock", left: 0, stack: "StockError: out of stock" },
  ],
  [undefined, { name: "Error", message: "the activity failed" }],
  [JSON.parse('{"message":"m","__proto__":{"name":"other"}}') as object, { name: "Error", message: "m" }],
])("an error that is given as %j is the cause of the step's error", async (given, cause) => {
  await using api = await open()
  const handle = await api.engine.start(failure, { id: "f" })
  await api.engine.settle()
  const { id, token } = await api.claimed()
  expect(await api.json("POST", `/tasks/${id}/fail`, { token, error: given, retryable: false })).toEqual([200, { id, status: "failed" }])
  await expect(handle.result()).rejects.toMatchObject({ code: "STEP_FAILED", cause })
})

it("wrong requests are refused with what is wrong", async () => {
  await using api = await open()
  const wrong: [string, object][] = [
    ["/queues/warehouse/claim", {}],
    ["/queues/warehouse/claim", { ...claim, activities: [] }],
    ["/queues/warehouse/claim", { ...claim, max: 101 }],
    ["/queues/warehouse/claim", { ...claim, wait: "soon" }],
    ["/tasks/t/heartbeat", {}],
    ["/tasks/t/complete", { token: "" }],
    ["/tasks/t/fail", { token: "t", retryable: "no" }],
  ]
  for (const [path, body] of wrong) expect((await api.json("POST", path, body))[0]).toBe(400)
})

it("a wait ends with a new task, and with the server", async () => {
  await using engine = await createTestEngine({ workflows: [order] })
  const closing = new AbortController()
  const app = createHttpApp(engine.current, { signal: closing.signal })
  const client = connect("http://localhost", { fetch: async (url, init) => app.fetch(new Request(url, init)) })
  // The time of the engine stands still, so only the new task ends the wait.
  const waiting = client.tasks.claim("warehouse", { ...claim, wait: "1h" })
  await engine.settle()
  await engine.start(order, { id: "o", input: 1 })
  await engine.settle()
  expect(await waiting).toMatchObject([{ instance: "o", input: 1 }])
  const last = app.request("/queues/warehouse/claim", { method: "POST", body: JSON.stringify({ ...claim, wait: "1h" }) })
  await engine.settle()
  closing.abort()
  expect(await (await last).json()).toEqual({ tasks: [] })
  await client.close()
})

it("a wait ends with the engine", async () => {
  const engine = await createTestEngine({ workflows: [order] })
  const refused = engine.current.tasks.claim("warehouse", { ...claim, wait: "1h" }).catch((error: unknown) => error)
  await engine.settle()
  await engine.close()
  expect(await refused).toMatchObject({ code: "ENGINE_CLOSED" })
})

it("a caller that goes away between its request and the answer leaves the task to others at once", async () => {
  await using api = await open()
  await api.engine.start(order, { id: "o", input: [] })
  await api.engine.settle()
  const gone = new AbortController()
  const claiming = api.engine.current.tasks.claim("warehouse", { ...claim, signal: gone.signal })
  gone.abort()
  expect(await claiming).toEqual([])
  await api.engine.settle()
  expect(await api.claimed()).toMatchObject({ attempt: 2 })
})
