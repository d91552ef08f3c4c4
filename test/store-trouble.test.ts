// A file that cannot be used, a disk that is full, a second process on one file: through the engine, as a user meets them.

import { chmodSync, closeSync, copyFileSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type Context, type Engine, type Logger, Perdure, type PerdureOptions, workflow } from "perdure"
import { sqlite } from "perdure/sqlite"
import { createTestEngine, type TestEngine, type TestEngineOptions } from "perdure/testing"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { unprivileged } from "./unprivileged.ts"

let folder: string
let path: string
let open: (Engine | TestEngine)[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-trouble-"))
  path = join(folder, "app.db")
  open = []
})

afterEach(async () => {
  for (const engine of open) await engine.close()
  chmodSync(folder, 0o700)
  rmSync(folder, { recursive: true })
})

const flow = workflow("flow", async (ctx: Context, input: number) => {
  const word = await ctx.waitForEvent("word")
  return ctx.do("fill", () => `${String(word)} ${"x".repeat(input)}`)
})

/** Lines that the engine logs, and a promise for the first that contains something. */
class LogBook implements Logger {
  readonly lines: string[] = []
  readonly #readers: { readonly text: string; readonly found: () => void }[] = []
  readonly debug = (message: string) => this.#write(message)
  readonly info = (message: string) => this.#write(message)
  readonly warn = (message: string) => this.#write(`warning: ${message}`)
  readonly error = (message: string, data?: Record<string, unknown>) => this.#write(`${message} ${String(data?.["error"])}`)

  says(text: string): Promise<void> {
    if (this.lines.some((line) => line.includes(text))) return Promise.resolve()
    return new Promise((found) => this.#readers.push({ text, found }))
  }

  #write(line: string): void {
    this.lines.push(line)
    for (const { text, found } of this.#readers) if (line.includes(text)) found()
  }
}

const openEngine = async (options: PerdureOptions = {}) => {
  const engine = await Perdure.open({ store: sqlite(path, { durability: "process" }), workflows: [flow], log: new LogBook(), ...options })
  open.push(engine)
  return engine
}

const openTestEngine = async (options: Partial<TestEngineOptions> & Pick<TestEngineOptions, "store">) => {
  const engine = await createTestEngine({ workflows: [flow], ...options })
  open.push(engine)
  return engine
}

const closeAll = async () => {
  for (const engine of open.splice(0)) await engine.close()
}

describe("a file that cannot be used", () => {
  it("from the future is refused with what to do, and works again with newer code", async () => {
    const first = await openEngine()
    await first.start(flow, { id: "i", input: 1 })
    await closeAll()
    const change = (statement: string) => {
      const database = new DatabaseSync(path)
      const before = database.prepare("SELECT version, compatible FROM perdure_meta").get() as { version: number; compatible: number }
      database.exec(statement)
      database.close()
      return before
    }
    const { version, compatible } = change("UPDATE perdure_meta SET version = 41, compatible = 40")
    await expect(openEngine()).rejects.toMatchObject({ code: "DATABASE_TOO_NEW", message: expect.stringMatching(/version 41/) })
    change(`UPDATE perdure_meta SET version = ${version}, compatible = ${compatible}`)
    const engine = await openEngine()
    await engine.get("i").sendEvent("word", "hello")
    expect(await engine.get("i").result()).toBe("hello x")
  })

  it("that is no database is refused and left alone", async () => {
    writeFileSync(path, "Dear diary, ".repeat(1_000))
    await expect(openEngine()).rejects.toMatchObject({ code: "DATABASE_CORRUPT", message: expect.stringContaining("restore it from a backup") })
    expect(readFileSync(path, "utf8")).toBe("Dear diary, ".repeat(1_000))
  })

  it("that is damaged under way fails those who ask, and the backup goes on", async () => {
    const first = await openEngine()
    for (let i = 0; i < 200; i++) await first.start(flow, { id: `i${i}`, input: 1 })
    await closeAll()
    copyFileSync(path, `${path}.backup`)
    const file = openSync(path, "r+")
    for (let page = 1; page < 60; page++) writeSync(file, Buffer.alloc(2_000, 0xee), 0, 2_000, page * 4_096)
    closeSync(file)
    const asked = async () => (await openEngine()).list()
    await expect(asked()).rejects.toMatchObject({ code: "DATABASE_CORRUPT" })
    await closeAll()
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true })
    copyFileSync(`${path}.backup`, path)
    const engine = await openEngine()
    await engine.get("i7").sendEvent("word", "restored")
    expect(await engine.get("i7").result()).toBe("restored x")
    expect(await engine.count({}, "workflow")).toEqual({ flow: 200 })
  })

  it("that may only be read is refused when it is opened", async () => {
    await openEngine()
    await closeAll()
    chmodSync(path, 0o444)
    chmodSync(folder, 0o777)
    await unprivileged(() => expect(openEngine()).rejects.toMatchObject({ code: "READ_ONLY", message: expect.stringContaining("writable") }))
    chmodSync(path, 0o666)
    expect((await openEngine()).role).toBe("worker")
  })

  it("in a folder that does not exist says so", async () => {
    await expect(openEngine({ store: sqlite(join(folder, "missing", "app.db")) })).rejects.toMatchObject({
      code: "DATABASE_UNREADABLE",
      message: expect.stringContaining("folder exists"),
    })
  })
})

describe("a full disk", () => {
  const full = () => sqlite(path, { durability: "process", maxPageCount: 400 })
  const ballast = workflow("ballast", async (_ctx: Context, input: string) => input.length)

  it("stops an instance where it is; once there is room it goes on by itself", async () => {
    const log = new LogBook()
    const engine = await openTestEngine({ store: full(), workflows: [flow, ballast], log })
    await (await engine.start(ballast, { id: "ballast", input: "b".repeat(900_000) })).result()
    const large = await engine.start(flow, { id: "large", input: 500_000 })
    const small = await engine.start(flow, { id: "small", input: 1 })
    await engine.sendEvent("large", "word", "large")
    await engine.skip("10s")
    expect(log.lines.join("\n")).toContain("there is no room left to write")
    expect((await large.steps()).map(({ id, status }) => `${id} ${status}`)).toEqual(["word completed", "fill running"])
    await engine.sendEvent("small", "word", "small")
    expect(await small.result()).toBe("small x")

    await engine.get("ballast").delete()
    await engine.skip("10s")
    expect(await large.result()).toBe(`large ${"x".repeat(500_000)}`)
    expect((await large.history()).entries.filter(({ type }) => type === "step.completed")).toHaveLength(1)
  })

  it("refuses starts and events that do not fit, and leaves nothing of them", async () => {
    const engine = await openTestEngine({ store: full(), workflows: [flow, ballast] })
    await (await engine.start(ballast, { id: "ballast", input: "b".repeat(900_000) })).result()
    const handle = await engine.start(flow, { id: "i", input: 1 })
    const big = "y".repeat(800_000)
    for (const attempt of [
      () => engine.start(ballast, { id: "j", input: big }),
      () => engine.start(ballast, { id: "j", input: big, delay: "1h" }),
      () => engine.sendOrStart(flow, { id: "j", input: 1, event: "word", payload: big }),
      () => handle.sendEvent("word", big),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: "DISK_FULL", message: expect.stringContaining("free some disk space") })
    await engine.settle()
    expect((await engine.list({ order: "oldest" })).instances.map(({ id }) => id)).toEqual(["ballast", "i"])
    expect(await handle.status()).toBe("waiting")
    await engine.get("ballast").delete()
    expect(await (await engine.start(ballast, { id: "j", input: big })).result()).toBe(800_000)
    await engine.sendEvent("i", "word", "at last")
    expect(await handle.result()).toBe("at last x")
  })

  it("survives a crash while it is full", async () => {
    const engine = await openTestEngine({ store: full(), workflows: [flow, ballast] })
    await (await engine.start(ballast, { id: "ballast", input: "b".repeat(900_000) })).result()
    const handle = await engine.start(flow, { id: "i", input: 500_000 })
    await engine.sendEvent("i", "word", "large")
    await engine.skip("5s")
    await engine.crash()
    await engine.skip("5s")
    await engine.get("ballast").delete()
    await engine.skip("5s")
    expect((await handle.result()).length).toBe(500_006)
  })
})

describe("a second engine on one file", () => {
  it("is a client, says so, and can do all that a client does", async () => {
    const log = new LogBook()
    const worker = await openEngine()
    const client = await openEngine({ log })
    expect([worker.role, client.role]).toEqual(["worker", "client"])
    expect(log.lines.join()).toContain("warning: another process executes the workflows of this store; this one is a client and stands by")

    const handle = await client.start(flow, { id: "i", input: 1 })
    const result = handle.result()
    await handle.sendEvent("word", "through the file")
    expect(await result).toBe("through the file x")
    expect(await handle.describe()).toMatchObject({ status: "completed", result: "through the file x" })
    await client.sendOrStart(flow, { id: "j", input: 2, event: "word", payload: "both" })
    expect(await client.get("j").result()).toBe("both xx")
    expect((await client.list({ order: "oldest" })).instances.map(({ id }) => id)).toEqual(["i", "j"])
    expect(await client.count({}, "status")).toEqual({ completed: 2 })
    expect(await handle.restart()).toMatchObject({ accepted: true })
    expect(await handle.terminate()).toMatchObject({ accepted: true, status: "terminated" })
    await handle.delete()
    expect((await client.list()).instances.map(({ id }) => id)).toEqual(["j"])
    expect(worker.role).toBe("worker")
  })

  it("takes over when the first closes, and finishes what that one began", async () => {
    const log = new LogBook()
    const worker = await openEngine()
    const client = await openEngine({ log })
    const handle = await worker.start(flow, { id: "i", input: 3 })
    await handle.status()
    await worker.close()
    await log.says("this process executes the workflows of this store now")
    expect(client.role).toBe("worker")
    await client.get("i").sendEvent("word", "handed over")
    expect(await client.get("i").result()).toBe("handed over xxx")
  })

  it("waits for the result of what the other executes, over its takeover", async () => {
    const worker = await openEngine()
    const client = await openEngine()
    await worker.start(flow, { id: "i", input: 1 })
    const result = client.get("i").result()
    await worker.close()
    await client.get("i").sendEvent("word", "later")
    expect(await result).toBe("later x")
  })

  it("never executes if it was opened as a client", async () => {
    const log = new LogBook()
    const client = await openEngine({ role: "client", log })
    const handle = await client.start(flow, { id: "i", input: 1 })
    expect(client.role).toBe("client")
    expect(await handle.status()).toBe("queued")
    expect((await handle.why()).because).toEqual([expect.stringMatching(/^it is due since .*Z, and no worker is running; start one$/)])
    expect(log.lines).toEqual([])
    const worker = await openEngine()
    expect(worker.role).toBe("worker")
    await handle.sendEvent("word", "taken")
    expect(await handle.result()).toBe("taken x")
  })

  it("starts a workflow that it has no code of by the name that a worker offers, and refuses one that nobody knows", async () => {
    await openEngine()
    const client = await openEngine({ workflows: [] })
    await expect(client.start("flew", { input: 1 })).rejects.toMatchObject({ code: "UNKNOWN_WORKFLOW", details: { nearest: "flow" } })
    const handle = await client.start("flow", { id: "i", input: 1 })
    await handle.sendEvent("word", "by name")
    expect(await handle.result()).toBe("by name x")
  })
})
