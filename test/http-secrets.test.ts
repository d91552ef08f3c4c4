// The responses of the HTTP API when its store fails: a code, a plain sentence and an id of the log, and no detail of the server.

import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type Client, type Context, type Engine, Perdure, PerdureError, workflow } from "perdure"
import { createHttpApp } from "perdure/http"
import { sqlite } from "perdure/sqlite"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { silentLogger } from "../src/hosts/silent-logger.ts"
import { wholeEngine } from "../src/engine/public-engine.ts"
import { overriding } from "../src/engine/method-overrides.ts"
import { askForAll, expectNoSecrets } from "./http-answers.ts"

const flow = workflow("flow", async (ctx: Context, input: number) => {
  ctx.setQueryHandler("broken", () => {
    throw new PerdureError("STORE_FAILED", "the shop's own store failed at /shop/own.db")
  })
  if (input === 0) throw new PerdureError("STORE_UNREACHABLE", "the shop's own server shop.internal:5432 is away")
  return ctx.waitForEvent("word")
})

let folder: string
let path: string
let engine: Engine

const open = async (options: { readonly busyTimeout?: number } = {}) =>
  (engine = await Perdure.open({ store: sqlite(path, { durability: "process", ...options }), workflows: [flow], log: silentLogger }))

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "perdure-secret-"))
  path = join(folder, "hidden.db")
  await open()
  await engine.start(flow, { id: "waits", input: 1 })
  const over = await engine.start(flow, { id: "over", input: 0 })
  await over.result().catch(() => undefined)
})

afterEach(async () => {
  await engine.close()
  rmSync(folder, { recursive: true })
})

const secrets = /perdure-secret|hidden\.db|SQLITE|sqlite|SELECT|INSERT|perdure_|10\.1\.2\.3|7654|hunter2/

describe("the HTTP API", () => {
  it("says nothing of a file that is gone", async () => {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true })
    const seen = await askForAll(engine)
    expectNoSecrets(seen, secrets)
    expect(seen.answers.filter(({ text }) => text.includes("DATABASE_GONE")).length).toBeGreaterThan(10)
    expect(seen.log.some(({ error }) => String(error).includes("hidden.db"))).toBe(true)
  })

  it("says nothing of a file that is damaged", async () => {
    // So many that the first page of each table is in the first third of the file, which stays whole: the file can still be opened.
    for (let at = 0; at < 900; at++) await engine.start(flow, { input: 1 })
    await engine.close()
    const file = openSync(path, "r+")
    const pages = Math.floor(statSync(path).size / 4_096)
    for (let page = Math.floor(pages / 3); page < pages; page++) writeSync(file, Buffer.alloc(4_000, 0xee), 0, 4_000, page * 4_096)
    closeSync(file)
    await open()
    const seen = await askForAll(engine)
    expectNoSecrets(seen, secrets)
    expect(seen.answers.some(({ text }) => text.includes("DATABASE_CORRUPT"))).toBe(true)
  })

  it("says nothing of a file that another program locks", async () => {
    await engine.close()
    await open({ busyTimeout: 20 })
    const other = new DatabaseSync(path)
    other.exec("BEGIN IMMEDIATE")
    try {
      const seen = await askForAll(engine)
      expectNoSecrets(seen, secrets)
      expect(seen.answers.some(({ text }) => text.includes("DATABASE_BUSY"))).toBe(true)
    } finally {
      other.exec("ROLLBACK")
      other.close()
    }
  })

  const raw = () => new Error("connect ECONNREFUSED 10.1.2.3:7654 (password hunter2) while SELECT * FROM perdure_instance")
  const ours = () =>
    new PerdureError("STORE_FAILED", "PostgreSQL (10.1.2.3:7654, database hunter2) failed while SELECT", {
      details: { server: "10.1.2.3:7654", sql: "SELECT 1" },
      cause: raw(),
    })

  it.each([
    ["raw errors", raw],
    ["errors of ours", ours],
    ["errors of a code that it does not know", () => Object.assign(ours(), { code: "NEW_CODE" })],
  ])("says nothing of %s, whatever part of the store throws them", async (_, errorOf) => {
    const { store } = wholeEngine(engine).components
    const broken = (target: object): object =>
      new Proxy(target, {
        get: (_target, name) => {
          const value: unknown = Reflect.get(target, name)
          return typeof value === "function" ? () => Promise.reject(errorOf()) : value
        },
      })
    for (const part of ["directory", "schedules", "flow"] as const) {
      const whole = store[part]
      Object.defineProperty(store, part, { value: broken(whole), configurable: true, writable: true })
      const seen = await askForAll(engine)
      Object.defineProperty(store, part, { value: whole, configurable: true, writable: true })
      expectNoSecrets(seen, secrets)
    }
    // Routes keep the client that they were created with, so a second app gets a client whose calls all fail.
    const failing = new Proxy({} as Client, {
      get: (_target, name) => (name === "components" ? undefined : name === "schedules" || name === "limits" ? failing : () => Promise.reject(errorOf())),
    })
    const seen = await askForAll(overriding(failing, { get: () => failing as never, changes: () => ({ [Symbol.asyncIterator]: () => failing as never }) }))
    expectNoSecrets(seen, secrets)
    expect(seen.answers.filter(({ status }) => status >= 500).length).toBeGreaterThan(20)
  })

  it("says nothing of why an item of a batch, or a stream that has begun, failed", async () => {
    const logged: unknown[] = []
    let reads = 0
    const changes = () => ({
      [Symbol.asyncIterator]: () => ({
        next: () => (reads++ === 0 ? new Promise((_resolve, reject) => setTimeout(() => reject(ours()), 50)) : Promise.reject(ours())),
        cursor: () => Promise.resolve("1"),
        return: () => Promise.resolve({ done: true, value: undefined }),
      }),
    })
    const client = overriding(engine as Client, {
      startBatch: () =>
        Promise.resolve([
          { id: "a", created: false as const, error: ours() },
          { id: "b", created: false as const, error: new PerdureError("ID_EXISTS", 'instance "b" exists', { details: { instance: "b" } }) },
        ]),
      changes: changes as never,
    })
    const app = createHttpApp(client, { log: { error: (_message, data) => void logged.push(data?.["id"]) } })
    const batch = await (
      await app.request("/workflows/batch", {
        method: "POST",
        body: '{"instances":[{"type":"flow"},{"type":"flow"}]}',
        headers: { "content-type": "application/json" },
      })
    ).text()
    expect(batch).not.toMatch(secrets)
    const { instances } = JSON.parse(batch) as { instances: { error: { code: string; message: string; details: Record<string, unknown> } }[] }
    expect(instances.map(({ error }) => error.code)).toEqual(["STORE_FAILED", "ID_EXISTS"])
    expect(instances[1]?.error).toMatchObject({ message: 'instance "b" exists', details: { instance: "b" } })
    expect(logged).toEqual([instances[0]?.error.details["id"]])
    const stream = await (await app.request("/stream")).text()
    expect(stream).toContain("event: error")
    expect(stream).not.toMatch(secrets)
    expect(logged).toHaveLength(2)
    expect(stream).toContain(String(logged[1]))
  })

  it("shows what the code of a workflow threw, whatever its code says", async () => {
    const app = createHttpApp(engine, { log: silentLogger })
    const result = await app.request("/workflows/over/result")
    expect(result.status).toBe(409)
    expect(await result.json()).toMatchObject({
      error: { code: "INSTANCE_FAILED", message: "the shop's own server shop.internal:5432 is away" },
      failure: { code: "STORE_UNREACHABLE" },
    })
    const query = await app.request("/workflows/waits/queries/broken", { method: "POST" })
    expect(query.status).toBe(422)
    expect(await query.json()).toMatchObject({ error: { code: "HANDLER_FAILED", message: "the shop's own store failed at /shop/own.db" } })
  })

  it("does not take an error of the store for the failure of an instance", async () => {
    const failed = overriding(engine as Client, {
      get: (() => overriding(engine.get("over"), { result: () => Promise.reject(ours()) })) as never,
      query: () => Promise.reject(raw()),
    })
    const app = createHttpApp(failed, { log: silentLogger })
    for (const [method, where] of [
      ["GET", "/workflows/over/result"],
      ["POST", "/workflows/waits/queries/broken"],
    ] as const) {
      const response = await app.request(where, { method })
      expect([response.status, secrets.test(await response.text())]).toEqual([500, false])
    }
  })
})
