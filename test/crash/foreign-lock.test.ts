// Another process holds the write lock of the database file for a while. The engine waits without blocking its process.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { type AnyWorkflow, type Engine, Perdure, type StepInterceptor, workflow } from "perdure"
import { sqlite, type SqliteOptions } from "perdure/sqlite"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { CrashBed } from "./crash-bed.ts"
import { isWorking } from "./worker-process.ts"

const script = fileURLToPath(new URL("./lock-process.ts", import.meta.url))

let folder: string
let path: string
let complaints: string[]
const engines: Engine[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-lock-"))
  path = join(folder, "app.db")
  complaints = []
})

afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close()
  rmSync(folder, { recursive: true })
})

const open = async (workflows: readonly AnyWorkflow[], options: SqliteOptions = {}, interceptors: readonly StepInterceptor[] = []): Promise<Engine> => {
  const note = (message: string) => void complaints.push(message)
  const log = { debug: () => undefined, info: () => undefined, warn: note, error: note }
  const engine = await Perdure.open({ store: sqlite(path, options), workflows, log, interceptors })
  engines.push(engine)
  return engine
}

/** Resolves when another process has the lock. `free` resolves when that process has released it. */
const lock = async (file: string, ms: number, begin = "BEGIN IMMEDIATE") => {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, file, String(ms), begin], { stdio: ["ignore", "pipe", "inherit"] })
  const free = once(child, "exit")
  await once(child.stdout, "data")
  return { free }
}

/** How long the event loop was blocked while `work` ran: the longest time, and the 95th percentile. */
const heldUp = async (work: () => Promise<unknown>): Promise<{ readonly longestMs: number; readonly usualMs: number }> => {
  const gaps: number[] = []
  let last = performance.now()
  const probe = setInterval(() => {
    const now = performance.now()
    gaps.push(now - last)
    last = now
  }, 1)
  await work()
  clearInterval(probe)
  gaps.sort((a, b) => a - b)
  return { longestMs: gaps.at(-1) ?? Infinity, usualMs: gaps[Math.floor(gaps.length * 0.95)] ?? Infinity }
}

/** Far below the time of the lock, with a margin for a busy machine. */
const expectFree = ({ longestMs, usualMs }: { readonly longestMs: number; readonly usualMs: number }) => {
  expect(usualMs).toBeLessThan(50)
  expect(longestMs).toBeLessThan(300)
}

const lockMs = 1_200

describe("while another process holds the write lock", () => {
  it.each(["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])("timers fire, calls wait, and all of them are done once and in order (%s)", async (begin) => {
    const calls: string[] = []
    const work = workflow("work", async (ctx, name: string) => {
      await ctx.do("first", () => void calls.push(`first ${name}`))
      await ctx.sleep("nap", 20)
      await ctx.transaction("note", (sql) => sql.run("INSERT INTO note VALUES (?)", name).changes)
      await ctx.do("last", () => void calls.push(`last ${name}`))
      return name
    })
    const eventsMax = 40
    const collector = workflow("collector", async (ctx) => {
      const got: number[] = []
      while (got.length < eventsMax) got.push((await ctx.waitForEvent("number")) as number)
      return got
    })
    const engine = await open([work, collector])
    const tables = new DatabaseSync(path)
    tables.exec("CREATE TABLE note (text TEXT)")
    const collecting = await engine.start(collector, { id: "collector" })
    const before = await Promise.all(Array.from({ length: 10 }, (_, index) => engine.start(work, { input: `before ${index}` })))
    const { free } = await lock(path, lockMs, begin)
    let isFree = false
    void free.then(() => (isFree = true))
    const names = before.map((_, index) => `before ${index}`)
    const order: number[] = []
    expectFree(
      await heldUp(async () => {
        const during = Array.from({ length: 10 }, (_, index) => engine.start(work, { input: `during ${index}` }))
        names.push(...during.map((_, index) => `during ${index}`))
        const sent = Array.from({ length: eventsMax }, (_, index) => collecting.sendEvent("number", index).then(() => void order.push(index)))
        const scheduled = engine.schedules.create("s", { workflow: work, every: "1h", input: "scheduled" })
        const paused = before[0]?.pause()
        // Reads need no lock.
        expect((await engine.list()).instances.length).toBeGreaterThan(10)
        expect(isFree).toBe(false)
        await free
        await Promise.all([...sent, scheduled, paused])
        await before[0]?.resume()
        const handles = [...before, ...(await Promise.all(during))]
        expect(await Promise.all(handles.map((handle) => handle.result({ timeout: "10s" })))).toEqual(names)
      }),
    )
    expect(order).toEqual(Array.from({ length: eventsMax }, (_, index) => index))
    expect(await collecting.result({ timeout: "10s" })).toEqual(order)
    expect(calls.toSorted()).toEqual(names.flatMap((name) => [`first ${name}`, `last ${name}`]).toSorted())
    expect(
      tables
        .prepare("SELECT text FROM note ORDER BY text")
        .all()
        .map(({ text }) => text),
    ).toEqual(names.toSorted())
    tables.close()
    expect(complaints).toEqual([])
  })

  it("a file is opened, and becomes a store, once the lock is free", async () => {
    const database = new DatabaseSync(path)
    database.exec("CREATE TABLE mine (id INTEGER)")
    database.close()
    const done = workflow("done", async () => "done")
    const { free } = await lock(path, 600, "BEGIN EXCLUSIVE")
    let engine: Engine | undefined
    expectFree(await heldUp(async () => (engine = await open([done]))))
    await free
    expect(await (await engine?.start(done))?.result({ timeout: "10s" })).toBe("done")
  })

  it("a lock that lasts too long fails calls with DATABASE_BUSY, and instances go on afterwards", async () => {
    let steps = 0
    const two = workflow("two", async (ctx) => {
      await ctx.do("one", () => delay(50))
      return ctx.do("two", () => ++steps)
    })
    const engine = await open([two], { busyTimeout: 200 })
    const running = await engine.start(two)
    const { free } = await lock(path, lockMs)
    expectFree(
      await heldUp(async () => {
        await expect(engine.start(two, { id: "refused" })).rejects.toMatchObject({ code: "DATABASE_BUSY" })
        await expect(running.sendEvent("any")).rejects.toThrow(/raise busyTimeout/)
        await free
      }),
    )
    expect(await running.result({ timeout: "10s" })).toBe(1)
    await expect(engine.get("refused").describe()).rejects.toMatchObject({ code: "NOT_FOUND" })
    expect(complaints.some((line) => /trying again/.test(line))).toBe(true)
  })

  it("a transaction whose attempt has timed out meanwhile does not call its function", async () => {
    const attempts: number[] = []
    const timed = workflow("timed", async (ctx) =>
      ctx.transaction("note", (sql, { attempt }) => (attempts.push(attempt), Number(sql.run("INSERT INTO note VALUES (?)", attempt).changes)), {
        timeout: 100,
        retry: { maxAttempts: 20, initialInterval: 10, backoff: "fixed" },
      }),
    )
    const tables = new DatabaseSync(path)
    tables.exec("CREATE TABLE note (attempt INTEGER)")
    // The lock comes after the first attempt is recorded and before its transaction begins.
    const lockFirst: StepInterceptor = ({ attempt }, next) => {
      if (attempt === 1) {
        tables.exec("BEGIN IMMEDIATE")
        setTimeout(() => tables.exec("COMMIT"), 400)
      }
      return next()
    }
    const engine = await open([timed], {}, [lockFirst])
    expect(await (await engine.start(timed)).result({ timeout: "10s" })).toBe(1)
    expect(attempts).toHaveLength(1)
    expect(attempts[0]).toBeGreaterThan(1)
    expect(tables.prepare("SELECT attempt FROM note").all()).toEqual([{ attempt: attempts[0] }])
    tables.close()
  })
})

describe("several processes, and a foreign lock", () => {
  it("a worker and a client in processes of their own wait for it, and lose nothing", async () => {
    const bed = await CrashBed.open()
    try {
      const { engine } = bed.load
      const worker = bed.spawn()
      await engine.start("long", { id: "a", version: "1", allowUnknown: true, input: { ms: [100, 100, 100] } })
      expect(await worker.reported(isWorking, 10_000)).toBe(true)
      const { free } = await lock(bed.path, lockMs)
      expectFree(
        await heldUp(async () => {
          await engine.start("long", { id: "b", version: "1", allowUnknown: true, input: { ms: [10] } })
          await free
        }),
      )
      expect(await engine.get("a").result({ timeout: "10s" })).toBe(3)
      expect(await engine.get("b").result({ timeout: "10s" })).toBe(1)
      expect(await worker.kill("SIGTERM")).toEqual({ code: 0, signal: null })
      expect(worker.output).toBe("")
      expect(bed.integrity()).toEqual(["ok"])
    } finally {
      await bed.close()
    }
  })
})
